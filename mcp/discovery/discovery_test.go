package discovery

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func names(tools []rawjson.Value) []string {
	var list []string
	for _, tool := range tools {
		name, _ := tool.Get("name").Text()
		list = append(list, name)
	}
	return list
}

func TestTheModernEraIsAskedFirstAndToTheLastPage(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := newServer(t, map[string]any{
			"server/discover":          `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"2"}}}`,
			"tools/list":               `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":""}`,
			"tools/list ":              `{"tools":[],"nextCursor":"two"}`,
			"tools/list two":           `{"tools":[{"name":"b","inputSchema":{}}]}`,
			"prompts/list":             `{"prompts":[{"name":"p"}]}`,
			"resources/list":           `{"resources":[{"uri":"ui://r","name":"r"}]}`,
			"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"x://{y}","name":"t"}]}`,
		})
		s.stream = stream
		report, failure := s.discover(t, nil, Target{})
		if failure != nil || report.Era != mcp.Modern || !slices.Equal(names(report.Tools), []string{"a", "b"}) {
			t.Fatalf("stream %v: %v, %v, %q", stream, failure, report.Era, report.Tools)
		}
		if len(report.Prompts) != 1 || len(report.Resources) != 1 || len(report.Templates) != 1 {
			t.Errorf("%d prompts, %d resources, %d templates", len(report.Prompts), len(report.Resources), len(report.Templates))
		}
		if name, version := report.Server(); name != "x" || version != "2" {
			t.Errorf("server %q %q", name, version)
		}
		want := []string{"server/discover", "tools/list", "tools/list ", "tools/list two", "prompts/list", "resources/list", "resources/templates/list"}
		if !slices.Equal(s.asked(), want) {
			t.Errorf("asked %q, want %q", s.asked(), want)
		}
		for i, h := range s.got {
			if method, _, _ := strings.Cut(want[i], " "); h.Get("Mcp-Method") != method || h.Get("Mcp-Protocol-Version") != "2026-07-28" {
				t.Errorf("%s went out with the headers %v", want[i], h)
			}
		}
		for _, step := range report.Steps {
			if step.Status != http.StatusOK || step.Stream != stream || step.Bytes == 0 || step.Era != mcp.Modern || step.ContentType() == "" {
				t.Errorf("evidence %+v", step)
			}
		}
	}
}

func TestAnOlderServerIsAskedInASessionThatIsEnded(t *testing.T) {
	for name, refusal := range map[string]any{
		"unknown method":      "error:" + `{"code":-32601,"message":"?"}`,
		"older versions only": `{"supportedVersions":["2025-11-25"],"capabilities":{}}`,
		"unknown session":     respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { http.Error(w, "no session", 400) }),
		"a page":              respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { _, _ = w.Write([]byte("<html>")) }),
		"a crash":             respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { http.Error(w, "oops", 500) }),
		"no answer":           respond(func(http.ResponseWriter, *http.Request, json.RawMessage) { panic(http.ErrAbortHandler) }),
		"silence":             respond(func(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, map[string]any{"server/discover": refusal})
			report, failure := s.discover(t, &Engine{Timeout: 6 * time.Second}, Target{})
			if failure != nil || report.Era != mcp.Legacy || report.Version != "2025-11-25" || !slices.Equal(names(report.Tools), []string{"a"}) || report.NotModern == nil {
				t.Fatalf("%v, %+v", failure, report)
			}
			asked := slices.Compact(s.asked()) // a broken connection is tried twice
			if want := []string{"server/discover", "initialize", "notifications/initialized", "tools/list", "DELETE"}; !slices.Equal(asked, want) {
				t.Errorf("asked %q, want %q", asked, want)
			}
			for i, h := range s.got[len(s.got)-3:] {
				if h.Get("Mcp-Session-Id") != "session-1" || h.Get("Mcp-Protocol-Version") != "2025-11-25" {
					t.Errorf("request %d in the session has the headers %v", i, h)
				}
			}
		})
	}
}

// What a server refuses for everybody must not be asked for in another era.
func TestAClearRefusalIsNotAskedAgain(t *testing.T) {
	for status, want := range map[int]Class{401: Authentication, 403: Forbidden, 429: RateLimited, 302: Redirect, 307: Redirect} {
		s := newServer(t, map[string]any{"server/discover": respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Location", "https://user:pw@elsewhere.example/mcp?key=secret")
			w.WriteHeader(status)
		})})
		_, failure := s.discover(t, nil, Target{})
		if failure == nil || failure.Class != want || failure.Status != status || failure.Class.Advice() == "" {
			t.Errorf("%d: %+v, want %s", status, failure, want)
		}
		if want == Redirect && (!strings.Contains(failure.Detail, "https://elsewhere.example/mcp") || strings.Contains(failure.Error(), "secret") || strings.Contains(failure.Error(), "pw")) {
			t.Errorf("the redirect is described by %q", failure)
		}
		if asked := s.asked(); len(asked) != 1 {
			t.Errorf("%d: asked %q", status, asked)
		}
	}
}

func TestAPassingFailureIsTriedOnceMore(t *testing.T) {
	for _, status := range []int{502, 503, 504} {
		failures := 1
		s := newServer(t, nil)
		s.answers["tools/list"] = respond(func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			if failures > 0 {
				failures--
				w.WriteHeader(status)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + oneTool + `}`))
		})
		if report, failure := s.discover(t, nil, Target{}); failure != nil || len(report.Tools) != 1 {
			t.Errorf("%d once: %v", status, failure)
		}
		failures = 2
		if _, failure := s.discover(t, nil, Target{}); failure == nil || failure.Class != Unavailable || failures != 0 {
			t.Errorf("%d twice: %v, want %s", status, failure, Unavailable)
		}
	}
}

// One retry for all: a server that fails again and again is not asked twice as
// often.
func TestThereIsOneRetryForAWholeDiscovery(t *testing.T) {
	flaky := func(answer string) respond {
		failed := false
		return func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			if !failed {
				failed = true
				w.WriteHeader(503)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + answer + `}`))
		}
	}
	s := newServer(t, map[string]any{"tools/list": flaky(`{"tools":[],"nextCursor":"2"}`), "tools/list 2": flaky(oneTool)})
	if _, failure := s.discover(t, nil, Target{}); failure == nil || failure.Class != Unavailable {
		t.Errorf("two pages fail once each: %v", failure)
	}
	broken := respond(func(http.ResponseWriter, *http.Request, json.RawMessage) { panic(http.ErrAbortHandler) })
	s = newServer(t, map[string]any{"server/discover": broken, "initialize": flaky(`{"protocolVersion":"2025-11-25"}`)})
	if _, failure := s.discover(t, nil, Target{}); failure == nil || failure.Class != Unavailable || failure.During != "initialize" {
		t.Errorf("both eras fail: %v, asked %q", failure, s.asked())
	}
}

func TestNothingIsRetriedThatCannotHeal(t *testing.T) {
	for name, answer := range map[string]any{
		"a malformed catalog": `{"tools":[{"name":"a"}]}`,
		"a refusal":           respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { w.WriteHeader(401) }),
		"a rate limit":        respond(func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { w.WriteHeader(429) }),
	} {
		s := newServer(t, map[string]any{"tools/list": answer})
		if _, failure := s.discover(t, nil, Target{}); failure == nil || failure.During != "tools/list" {
			t.Errorf("%s: %+v", name, failure)
		}
		if asked := s.asked(); !slices.Equal(asked, []string{"server/discover", "tools/list"}) {
			t.Errorf("%s: asked %q", name, asked)
		}
	}
}

func TestWhatIsNoServerIsSaidToBeNone(t *testing.T) {
	for name, handler := range map[string]respond{
		"a page for everything": func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			_, _ = w.Write([]byte("<!doctype html>"))
		},
		"nothing there": func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { http.Error(w, "not found", 404) },
		"another API":   func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) { _, _ = w.Write([]byte(`{"ok":true}`)) },
	} {
		s := newServer(t, map[string]any{"server/discover": handler, "initialize": handler})
		if _, failure := s.discover(t, nil, Target{}); failure == nil || failure.Class != NotMCP {
			t.Errorf("%s: %v, want %s", name, failure, NotMCP)
		}
	}
	report, err := (&Engine{}).Discover(t.Context(), Target{URL: "http://127.0.0.1:1/mcp"})
	if err == nil || report.Failure.Class != Unreachable {
		t.Errorf("a closed port: %v, want %s", err, Unreachable)
	}
	s := newServer(t, nil)
	report, err = (&Engine{}).Discover(t.Context(), Target{URL: strings.Replace(s.URL, "http://", "https://", 1)})
	if err == nil || report.Failure.Class != Untrusted {
		t.Errorf("no TLS: %v, want %s", err, Untrusted)
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about the refusal
	t.Cleanup(s.Close)
	report, err := (&Engine{}).Discover(t.Context(), Target{URL: s.URL})
	if err == nil || report.Failure.Class != Untrusted || report.Steps[0].Failure != Untrusted {
		t.Errorf("%v, want %s", err, Untrusted)
	}
}

// A probe is for questions beside discovery: it has the same manners and keeps
// the same evidence.
func TestAProbeAnswersWithEvidence(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		switch r.URL.Path {
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": ok\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 2<<20))
		case "/redirect":
			http.Redirect(w, r, "/stream", http.StatusFound)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("Origin")+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Accept"))
		}
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/mcp": {401, "OPTIONS https://chatgpt.com Bearer t0ken text/event-stream"}, "/stream": {200, ": ok\n\n"}, "/redirect": {302, ""},
	} {
		step, body, err := (&Engine{}).Probe(t.Context(), Target{URL: web.URL + path, Token: "t0ken", Header: http.Header{"Origin": {"https://chatgpt.com"}}}, http.MethodOptions, http.Header{"Accept": {"text/event-stream"}}, nil)
		if err != nil || step.Status != want.status || string(body) != want.body || !step.Cookie || step.Header.Get("Set-Cookie") != "" || step.Stream != (path == "/stream") {
			t.Errorf("%s: %+v, %q, %v", path, step, body, err)
		}
	}
	if _, _, err := (&Engine{}).Probe(t.Context(), Target{URL: web.URL + "/large"}, http.MethodGet, nil, nil); err == nil || err.(*Error).Class != TooLarge { //nolint:errorlint // the promise of Probe
		t.Errorf("2 MiB: %v", err)
	}
	if _, _, err := (&Engine{}).Probe(t.Context(), Target{URL: "http://127.0.0.1:1"}, http.MethodGet, nil, nil); err == nil || err.(*Error).Class != Unreachable { //nolint:errorlint // the promise of Probe
		t.Errorf("closed: %v", err)
	}
}

func TestGivingUpIsNoTimeout(t *testing.T) {
	s := newServer(t, map[string]any{"server/discover": respond(func(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() })})
	ctx, cancel := context.WithCancel(t.Context())
	engine := &Engine{Progress: func(string) { time.AfterFunc(20*time.Millisecond, cancel) }}
	report, err := engine.Discover(ctx, Target{URL: s.URL})
	if err == nil || report.Failure.Class != Canceled {
		t.Errorf("%v, want %s", err, Canceled)
	}
}

func TestTargetsAreCheckedBeforeAnythingIsSent(t *testing.T) {
	for name, target := range map[string]Target{
		"no scheme":        {URL: "mcp.example.com/mcp"},
		"another scheme":   {URL: "ftp://mcp.example.com"},
		"no host":          {URL: "https:///mcp"},
		"a password":       {URL: "https://user:s3cret@mcp.example.com/mcp"},
		"a fragment":       {URL: "https://mcp.example.com/mcp#s3cret"},
		"token and header": {URL: "https://mcp.example.com", Token: "s3cret", Header: http.Header{"Authorization": {"s3cret"}}},
		"line break":       {URL: "https://mcp.example.com", Header: http.Header{"X-Key": {"s3cret\r\nX: y"}}},
		"in the token":     {URL: "https://mcp.example.com", Token: "s3cret\n"},
		"twice":            {URL: "https://mcp.example.com", Header: http.Header{"X-Key": {"s3cret", "b"}}},
		"cookie":           {URL: "https://mcp.example.com", Header: http.Header{"Cookie": {"s3cret"}}},
	} {
		var failure *Error
		report, err := (&Engine{}).Discover(t.Context(), target)
		if report != nil || err == nil {
			t.Fatalf("%s: %v, %v", name, report, err)
		}
		if failure, _ = err.(*Error); failure.Class != BadTarget || strings.Contains(failure.Error(), "s3cret") { //nolint:errorlint // the promise of Discover
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, list := range [][]string{{"X-Key"}, {":x"}, {"X Key: y"}, {"X-Key: a\x7f"}, {"X-Key: a\x00"}, {"Mcp-Method: x"}, {"host: x"}, {"X-Key: a", "x-key: b"}} {
		if _, err := Headers(list); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
	got, err := Headers([]string{"X-API-Key:  Bearer a:b== ", "X-Empty:"})
	if err != nil || got.Get("X-Api-Key") != "Bearer a:b==" || got["X-Empty"][0] != "" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestCredentialsGoOutAsGiven(t *testing.T) {
	s := newServer(t, nil)
	if _, failure := s.discover(t, nil, Target{Token: "t0ken"}); failure != nil {
		t.Fatal(failure)
	}
	if _, failure := s.discover(t, nil, Target{Header: http.Header{"X-Api-Key": {"k3y"}}}); failure != nil {
		t.Fatal(failure)
	}
	if got := s.got[0].Get("Authorization"); got != "Bearer t0ken" {
		t.Errorf("Authorization %q", got)
	}
	if got := s.got[2]; got.Get("X-Api-Key") != "k3y" || got.Get("Authorization") != "" {
		t.Errorf("%v", got)
	}
}
