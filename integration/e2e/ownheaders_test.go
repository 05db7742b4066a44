package e2e

import (
	"io"
	"net/http"
	"testing"
)

// An error of the gateway's own says nothing of what the server had said before
// its answer was withheld or broke off: a cookie of it would stay with the client.
func TestErrorsOfOursCarryNoHeadersOfTheServer(t *testing.T) {
	said := func(w http.ResponseWriter, contentType string) {
		h := w.Header()
		h.Add("Set-Cookie", "server=secret")
		h.Set("X-Internal-Node", "10.0.0.7")
		h.Set("Link", "<http://10.0.0.7/>; rel=next")
		h.Set("Location", "http://10.0.0.7/")
		h.Set("Content-Type", contentType)
	}
	for name, test := range map[string]struct {
		status int
		server http.HandlerFunc
	}{
		"withheld": {http.StatusBadGateway, func(w http.ResponseWriter, _ *http.Request) {
			said(w, "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":7,"result":{},"Result":{}}`)
		}},
		"neither JSON nor a stream": {http.StatusBadGateway, func(w http.ResponseWriter, _ *http.Request) {
			said(w, "text/html")
			_, _ = io.WriteString(w, `<script>{}</script>`)
		}},
		"compressed": {http.StatusBadGateway, func(w http.ResponseWriter, _ *http.Request) {
			said(w, "application/json")
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, `{}`)
		}},
		"broken off": {http.StatusBadGateway, func(w http.ResponseWriter, _ *http.Request) {
			said(w, "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0"`)
			panic(http.ErrAbortHandler)
		}},
		"refusing the gateway": {http.StatusBadGateway, func(w http.ResponseWriter, _ *http.Request) {
			said(w, "application/json")
			w.WriteHeader(http.StatusUnauthorized)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := startBefore(t, test.server, endpoint(allTools))
			a := g.bearer(t, viewer("acme")).post(t, pingBody, nil)
			wantStatus(t, name, a, test.status)
			for _, header := range []string{"Set-Cookie", "X-Internal-Node", "Link", "Location", "Content-Encoding"} {
				if got := a.header.Values(header); len(got) != 0 {
					t.Errorf("%s: %q", header, got)
				}
			}
			if a.header.Get("Cache-Control") == "" || a.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("our own headers are missing: %v", a.header)
			}
		})
	}
}
