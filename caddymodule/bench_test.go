package caddymodule

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// BenchmarkCall is a small tool call from the handler's door to the next handler
// and back: what the gateway adds to a request.
func BenchmarkCall(b *testing.B) {
	issuer := newTokenIssuer(b)
	m := mustLoad(b, "resource https://acme.example.com/mcp\nauth {\nissuer "+issuer.URL+" {\njwks_url "+issuer.URL+"\n}\n}\ntenant {\nclaim org\n}\npolicy {\ntool *\n}")
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"visible.echo","arguments":{"text":"` + strings.Repeat("a", 200) + `"},"_meta":` + strings.TrimPrefix(modernMeta("{}"), `"_meta":`) + `}}`
	reply := []byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"` + strings.Repeat("a", 300) + `"}]}}`)
	next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write(reply)
		return err
	})
	template := modernPost(b, "tools/call", "{}")
	template.Header.Set("Mcp-Name", "visible.echo")
	template.Header.Set("Authorization", "Bearer "+issuer.token(b, "bench"))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		w := httptest.NewRecorder()
		r := template.Clone(b.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader([]byte(body))), int64(len(body))
		r = prepared(r, w)
		b.StartTimer()
		if err := m.ServeHTTP(w, r, next); err != nil {
			b.Fatal(err)
		}
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
