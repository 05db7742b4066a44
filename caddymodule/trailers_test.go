package caddymodule

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// trailing serves an answer with trailers over a real connection.
func trailing(t *testing.T, contentType, body string) (answer string, response *http.Response) {
	t.Helper()
	m := mustLoad(t, filtering)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = m.ServeHTTP(w, caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, nil), caddyhttp.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) error {
			rw.Header().Set("Content-Type", contentType)
			rw.Header().Set("X-Both", "before")
			rw.Header().Set("Trailer", "X-Announced, X-Both, Mcp-Session-Id, Content-Digest, Set-Cookie, Link")
			_, err := io.WriteString(rw, body)
			for _, name := range []string{"X-Announced", "Mcp-Session-Id", "Content-Digest", "Set-Cookie", "Link", "X-Not-Announced"} {
				rw.Header().Set(name, "behind")
			}
			rw.Header().Add("X-Both", "behind")
			for _, name := range []string{"X-Late", "access-control-allow-origin", "Mcp-Protocol-Version", "WWW-Authenticate"} {
				rw.Header().Set(http.TrailerPrefix+name, "behind")
			}
			return err
		}))
	}))
	t.Cleanup(server.Close)
	r := post(t, listRequest, nil).Clone(t.Context())
	r.RequestURI = ""
	r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(server.URL, "http://")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all), response
}

// Trailers come behind the body and must survive what is done to it (caddy 3236).
func TestTrailersArrive(t *testing.T) {
	for contentType, body := range map[string]string{"text/event-stream": "data: " + fullList + "\n\n", "application/json": fullList} {
		answer, response := trailing(t, contentType, body)
		isFiltered(t, contentType, answer)
		if response.Trailer.Get("X-Announced") != "behind" || response.Trailer.Get("X-Late") != "behind" {
			t.Errorf("%s: trailers %v", contentType, response.Trailer)
		}
		if got := response.Header.Get("X-Both"); got != "before" {
			t.Errorf("%s: X-Both: %q before the body", contentType, got)
		}
	}
}

// What only the gateway may say stays unsaid behind the body too, and what comes
// behind it becomes no header: headers have been looked at by then.
func TestTrailersSayNothingThatHeadersMayNot(t *testing.T) {
	for contentType, body := range map[string]string{
		"text/event-stream": "data: " + fullList + "\n\n", "application/json": fullList, "text/plain": "no JSON",
	} {
		_, response := trailing(t, contentType, body)
		for name := range response.Trailer {
			if name == "Content-Digest" && contentType == "text/plain" {
				continue // its bytes are the server's own
			}
			if name != "X-Announced" && name != "X-Late" && name != "X-Both" && len(response.Trailer[name]) > 0 {
				t.Errorf("%s: trailer %s: %q", contentType, name, response.Trailer[name])
			}
		}
		for name, values := range response.Header {
			if strings.Contains(strings.Join(values, ","), "behind") {
				t.Errorf("%s: the trailer %s became a header", contentType, name)
			}
		}
	}
}

func TestAWithheldAnswerHasNoTrailers(t *testing.T) {
	answer, response := trailing(t, "application/json", strings.Replace(fullList, `"result"`, `"Result"`, 1))
	wantError(t, "withheld", response.StatusCode, http.StatusBadGateway, answer)
	for name, values := range response.Trailer {
		if len(values) > 0 {
			t.Errorf("trailer %s: %q", name, values)
		}
	}
	if response.Header.Get("X-Announced") != "" {
		t.Error("a trailer became a header")
	}
}
