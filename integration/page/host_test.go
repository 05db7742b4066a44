package page

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// defaultPolicy is what hosts hold pages to that declare nothing. (MCP Apps
// 2026-01-26, Host Behavior and Sandbox proxy.)
const defaultPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'"

// host is the web site of the synthetic host. Apps are served from another
// origin.
type host struct {
	mux     *http.ServeMux
	pages   map[string]string // apps that are not in testdata
	site    *httptest.Server
	apps    *httptest.Server
	begun   chan string
	results chan result
	done    chan struct{}
}

// patience is how long a scenario, or the start of a browser, may take on a
// machine that does much else.
const patience = time.Minute

// result is what a scenario came to.
type result struct{ Name, Failure string }

func newHost(t *testing.T) *host {
	h := &host{mux: http.NewServeMux(), pages: make(map[string]string), begun: make(chan string, 16), results: make(chan result, 16), done: make(chan struct{})}
	h.apps = httptest.NewServer(http.HandlerFunc(h.serveApp))
	t.Cleanup(h.apps.Close)
	h.site = httptest.NewServer(h.mux)
	t.Cleanup(h.site.Close)
	h.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, strings.ReplaceAll(testdata("host/host.html"), "{{apps}}", h.apps.URL))
	})
	h.mux.HandleFunc("GET /{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join("testdata/host", r.PathValue("file")))
	})
	h.mux.HandleFunc("GET /host/{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join("testdata/host", r.PathValue("file")))
	})
	h.mux.HandleFunc("GET /suite/{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join("testdata/suite", r.PathValue("file")))
	})
	h.mux.HandleFunc("POST /begin", func(_ http.ResponseWriter, r *http.Request) { h.begun <- decode[string](r) })
	h.mux.HandleFunc("POST /result", func(_ http.ResponseWriter, r *http.Request) { h.results <- decode[result](r) })
	h.mux.HandleFunc("POST /done", func(http.ResponseWriter, *http.Request) { close(h.done) })
	return h
}

// run has a browser run a suite, each scenario as a test of its own.
func (h *host) run(t *testing.T, suite string) {
	t.Helper()
	browse(t, h.site.URL+"/?suite="+suite)
	running, count := "", 0
	for {
		select {
		case running = <-h.begun:
		case got := <-h.results:
			count++
			t.Run(got.Name, func(t *testing.T) {
				if got.Failure != "" {
					t.Error(got.Failure)
				}
			})
		case <-h.done:
			if count == 0 {
				t.Error("no scenario ran")
			}
			return
		case <-time.After(patience):
			t.Fatalf("the browser is silent for %s, last in %q", patience, running)
		}
	}
}

func decode[T any](r *http.Request) (v T) {
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// serveApp serves a page of testdata/apps as a host would show it: with the
// client in it, if options are given, and held to the default policy, or to one
// that allows other scripts than inline ones.
func (h *host) serveApp(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	doc, ok := h.pages[filepath.Base(r.URL.Path)]
	if !ok {
		doc = app(filepath.Base(r.URL.Path), query.Get("settings"))
	}
	if options := query.Get("options"); options != "" {
		p := page.Page{URI: "ui://*"}
		if err := json.Unmarshal([]byte(options), &p); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		injected, err := inject(p, doc)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		doc = injected
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	policy := defaultPolicy
	if scripts := query.Get("scripts"); scripts != "" {
		policy = strings.Replace(policy, "'unsafe-inline'", strings.ReplaceAll(scripts, "{{hash}}", page.Hash()), 1)
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Access-Control-Allow-Origin", "*") // for hosts that take the text
	for i, part := range strings.Split(doc, "<!-- pause -->") {
		if i > 0 {
			w.(http.Flusher).Flush()
			time.Sleep(500 * time.Millisecond)
		}
		_, _ = io.WriteString(w, part)
	}
}

// inject sends a page through the gateway's injector.
func inject(p page.Page, doc string) (string, error) {
	injector, err := page.Compile(page.Config{Pages: []page.Page{p}})
	if err != nil {
		return "", err
	}
	item := rawjson.Value(`{"uri":"ui://test/page","mimeType":"text/html;profile=mcp-app","text":` + string(rawjson.Quote(doc)) + `}`)
	item, findings := injector.Content(item)
	if len(findings) > 0 {
		return "", fmt.Errorf("not injected: %v", findings)
	}
	text, _ := item.Get("text").Text()
	return text, nil
}

// app puts a page together.
func app(name, settings string) string {
	doc := testdata("apps/" + name + ".html")
	replace := []string{
		"{{settings}}", html.EscapeString(settings),
		"{{probe.js}}", testdata("apps/probe.js"),
		"{{client.js}}", page.Module(),
	}
	if strings.Contains(doc, "{{ext-apps}}") {
		bundle := file(extApps)
		replace = append(replace, "{{ext-apps}}", bundle, "{{App}}", exportedApp.FindStringSubmatch(bundle)[1])
	}
	return strings.NewReplacer(replace...).Replace(doc)
}

// extApps is the official bridge for pages, bundled for browsers.
const extApps = "../node/node_modules/@modelcontextprotocol/ext-apps/dist/src/app-with-deps.js"

// exportedApp finds what its class App is called in the bundle.
var exportedApp = regexp.MustCompile(`[{,]([\w$]+) as App[,}]`)

func testdata(name string) string { return file(filepath.Join("testdata", name)) }

// file reads a file that must be there.
func file(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
