package workspace

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// defaultPolicy is what hosts hold pages to that declare nothing. (MCP Apps
// 2026-01-26, Sandbox proxy.)
const defaultPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'"

// The pages are shown in Chromium, in a sandboxed frame of a synthetic host, with
// what a real server answers. go test -artifacts keeps the pictures.
func TestPagesInABrowser(t *testing.T) {
	for _, tt := range []struct{ scenario, page, theme, size string }{
		{"home", "home", "light", "700,500"},
		{"home", "home", "dark", "700,500"},
		{"deck", "home", "dark", "1000,900"},
		{"deck", "home", "light", "400,900"},
		{"create", "home", "light", "700,500"},
		{"decide", "tray", "light", "700,700"},
		{"decide", "tray", "dark", "400,900"},
		{"late", "tray", "light", "700,700"},
	} {
		t.Run(tt.scenario+" "+tt.theme, func(t *testing.T) {
			s, endpoint := start(t, Config{})
			session := connect(t, endpoint, eras[1], editor)
			if failure := show(t, session, tt.scenario, tt.page, tt.theme, tt.size); failure != "" {
				t.Error(failure)
			}
			if tt.scenario != "decide" {
				return
			}
			c, err := s.store.Activities(t.Context(), editor, store.Question{})
			if err != nil || c.Activities[0].Decision != nil || c.Activities[1].Effective.Text != "Acme says thank you!" {
				t.Errorf("the page shows decisions; the server keeps %+v, %v", c, err)
			}
		})
	}
}

// show runs one scenario in a browser and returns why it failed.
func show(t *testing.T, session *mcp.ClientSession, scenario, page, theme, size string) string {
	t.Helper()

	chromium, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("MCP_APP_CI") == "1" {
			t.Fatal("no chromium in PATH")
		}
		t.Skip("no chromium in PATH (Debian: apt-get install chromium)")
	}

	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err := session.ReadResource(r.Context(), &mcp.ReadResourceParams{URI: "ui://workspace/" + page})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		probe, err := os.ReadFile("testdata/probe.js")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", defaultPolicy)
		_, _ = w.Write([]byte(strings.Replace(res.Contents[0].Text, "<head>", "<head><script>"+string(probe)+"</script>", 1)))
	}))
	t.Cleanup(app.Close)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failures, done := make(chan string, 1), make(chan struct{})
	host := http.NewServeMux()
	host.Handle("GET /", http.FileServer(http.Dir("testdata")))
	host.HandleFunc("GET /hold", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	})
	host.HandleFunc("POST /call", func(w http.ResponseWriter, r *http.Request) {
		var params mcp.CallToolParams
		if err := json.NewDecoder(r.Body).Decode(&params); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		res, err := session.CallTool(r.Context(), &params)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(res)
	})
	host.HandleFunc("POST /done", func(_ http.ResponseWriter, r *http.Request) {
		var failure string
		if err := json.NewDecoder(r.Body).Decode(&failure); err != nil {
			failure = err.Error()
		}
		failures <- failure
		close(done)
	})
	site := httptest.NewServer(host)
	t.Cleanup(site.Close)

	picture := filepath.Join(t.ArtifactDir(), scenario+"-"+theme+".png")
	address := site.URL + "/host.html?" + url.Values{
		"scenario": {scenario}, "tool": {"workspace." + page}, "theme": {theme}, "page": {app.URL},
	}.Encode()
	browser := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--window-size="+size, "--screenshot="+picture, address)
	// The browser is many processes; all of them go.
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) }
	if out, err := browser.CombinedOutput(); err != nil {
		t.Logf("the browser ended with %v:\n%s", err, out)
	}

	select {
	case failure := <-failures:
		t.Logf("picture: %s", picture)
		return failure
	default:
		return "the scenario did not end"
	}
}
