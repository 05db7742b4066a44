package caddymodule

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// adminSaying is an admin endpoint that gives one answer.
func adminSaying(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Set-Cookie", "admin=1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestWhatIsWrongWithTheAdminEndpointIsSaid in words of the console; of what
// answers there only an error of Caddy's form is repeated, cleaned.
func TestWhatIsWrongWithTheAdminEndpointIsSaid(t *testing.T) {
	var followed bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	t.Cleanup(elsewhere.Close)
	for _, tt := range []struct {
		name   string
		admin  http.HandlerFunc
		status int
		class  string
		text   string
	}{
		{"an error", adminSaying(404, "application/json", `{"error":"there is no endpoint /x\u001b[31m\u202e"}`), 404, "refused", "there is no endpoint /x[31m"},
		{"another service", adminSaying(200, "text/html", "<html>hello"), 502, "malformed", "is not Caddy's admin endpoint"},
		{"no JSON", adminSaying(200, "application/json", `{"endpoints":[`), 502, "malformed", "is not Caddy's admin endpoint"},
		{"an error page", adminSaying(500, "text/html", "<b>secret detail</b>"), 502, "malformed", "is not Caddy's admin endpoint"},
		{"no such API", adminSaying(404, "text/plain", "404 page not found"), 404, "missing", "runs without mcp_app"},
		{"not let in", adminSaying(403, "application/json", `{"error":"host not allowed"}`), 502, "forbidden", "origins"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, 502, "malformed", ""},
		{"broken off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 502, "unreachable", "Is Caddy running"},
		{"cut short", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"endpoints":[`)
		}, 502, "unreachable", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serveConsole(t, tt.admin)
			status, header, body := s.ask(asked{path: s.base + "api/endpoints"})
			var fault consoleFault
			if err := json.Unmarshal([]byte(body), &fault); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if status != tt.status || fault.Class != tt.class || !strings.Contains(fault.Text, tt.text) {
				t.Errorf("%d %s", status, body)
			}
			if strings.Contains(body, "secret detail") || strings.ContainsAny(fault.Text, "\x1b\u202e") || header.Get("Set-Cookie") != "" {
				t.Errorf("passed on: %s %v", body, header)
			}
		})
	}
	if followed {
		t.Error("the redirect was followed")
	}
}

// TestLeavingThePageEndsTheQuestion: a check that nobody waits for is given up at
// the admin endpoint too, and so is a live view.
func TestLeavingThePageEndsTheQuestion(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	s := serveConsole(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": listening\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		began <- struct{}{}
		select {
		case <-r.Context().Done():
			ended <- struct{}{}
		case <-t.Context().Done(): // the test has failed
		}
	}))
	for _, a := range []struct{ method, path string }{{"POST", "api/catalog"}, {"GET", "api/events"}} {
		conn, err := net.Dial("tcp", s.host)
		if err != nil {
			t.Fatal(err)
		}
		body := ""
		if a.method == "POST" {
			body = "{}"
		}
		r, err := http.NewRequestWithContext(t.Context(), a.method, s.url+s.base+a.path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(&http.Cookie{Name: consoleCookie, Value: s.cookie})
		r.Header.Set("Origin", s.url)
		r.Header.Set("Content-Type", "application/json")
		if err := r.Write(conn); err != nil {
			t.Fatal(err)
		}
		<-began
		_ = conn.Close()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s goes on", a.path)
		}
	}
}

// TestEventsArriveAsTheyAreSent: each at once, not when the stream ends.
func TestEventsArriveAsTheyAreSent(t *testing.T) {
	next := make(chan string)
	s := serveConsole(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for text := range next {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+s.base+"api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: consoleCookie, Value: s.cookie})
	go func() { next <- "data: 0\n\n" }()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, text := range []string{"data: 0", "data: 1", "data: 2"} {
		if text != "data: 0" {
			next <- text + "\n\n"
		}
		for lines.Scan() && lines.Text() == "" {
		}
		if lines.Text() != text {
			t.Errorf("%q, want %q", lines.Text(), text)
		}
	}
	close(next)
}

// TestWhatThePageSendsIsBounded, before anything of it reaches Caddy.
func TestWhatThePageSendsIsBounded(t *testing.T) {
	s := serveConsole(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxAdminBody {
			t.Error("too much was passed on")
		}
		endpointsOnly(w, r)
	}))
	for size, want := range map[int]int{maxAdminBody: 200, maxAdminBody + 1: 413} {
		if status, _, body := s.ask(asked{method: "POST", path: s.base + "api/catalog", body: strings.Repeat(" ", size)}); status != want {
			t.Errorf("%d bytes: %d %s", size, status, body)
		}
	}
}

// TestTheDoctorAsksTheConfiguredAddressOnly: with the token of the page, and at
// no address that the page could choose.
func TestTheDoctorAsksTheConfiguredAddressOnly(t *testing.T) {
	const token = "aaaa.bbbb.cccc"
	var authorized, foreign bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorized = authorized || r.Header.Get("Authorization") == "Bearer "+token
		http.Error(w, "your token "+token+" is bad", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign = true }))
	t.Cleanup(other.Close)
	answer := `{"address":"` + server.URL + `/mcp"}`
	s := serveConsole(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { adminSaying(200, "application/json", answer)(w, r) }))
	doctor := func(body string) (int, string) {
		status, _, text := s.ask(asked{method: "POST", path: s.base + "api/doctor?address=" + other.URL, body: body})
		return status, text
	}
	status, text := doctor(`{"endpoint":"/mcp","token":"` + token + `"}`)
	if status != http.StatusOK || !authorized || !strings.Contains(text, "event: progress\n") || !strings.Contains(text, "event: report\n") || !strings.Contains(text, "token-forbidden") {
		t.Errorf("%d, with the token %v: %s", status, authorized, text)
	}
	if strings.Contains(text, token) {
		t.Errorf("the token comes back: %s", text)
	}
	if status, text := doctor(`{"endpoint":"/mcp","token":"` + token + `","host":"` + strings.TrimPrefix(other.URL, "http://") + `"}`); status != http.StatusBadRequest || !strings.Contains(text, "leave the host out") {
		t.Errorf("%d %s", status, text)
	}
	answer = `{"address":"http://{http.request.host}/mcp"}`
	if status, text := doctor(`{"endpoint":"/mcp"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("an address with placeholders: %d %s", status, text)
	}
	if foreign {
		t.Error("another address was asked")
	}
}

// TestAdminAddressesAreReadAsCaddyDoes, and those of other machines are known.
func TestAdminAddressesAreReadAsCaddyDoes(t *testing.T) {
	for address, local := range map[string]bool{
		"localhost:2019": true, ":2019": true, "127.0.0.1:1": true, "[::1]:2019": true, "0.0.0.0:2019": true, "unix//run/caddy.sock": true,
		"10.0.0.1:2019": false, "caddy.internal:2019": false, "tcp/192.0.2.1:2019": false,
	} {
		relay, err := newConsoleRelay(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
		} else if relay.local() != local {
			t.Errorf("%s: local is %v", address, relay.local())
		}
	}
	for _, address := range []string{"localhost:1-3", "udp/localhost:2019", "http://localhost:2019", "localhost:x"} {
		if _, err := newConsoleRelay(address); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
}

// TestAdminSocketsAreReached, with the permissions that Caddy's setting has.
func TestAdminSocketsAreReached(t *testing.T) {
	dir, err := os.MkdirTemp("", "x") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "a.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			t.Error("an Origin at a socket, which Caddy refuses")
		}
		endpointsOnly(w, r)
	}), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	for _, address := range []string{"unix/" + socket, "unix/" + socket + "|0220"} {
		relay, err := newConsoleRelay(address)
		if err != nil {
			t.Fatal(err)
		}
		if fault := relay.reach(t.Context()); fault != nil {
			t.Errorf("%s: %+v", address, fault)
		}
		relay.close()
	}
}
