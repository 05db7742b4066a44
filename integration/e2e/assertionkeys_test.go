package e2e

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/assertion"
)

// keyID reads the key id of a JWT without judging it.
func keyID(t *testing.T, signed string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(signed, ".")[0])
	if err != nil {
		t.Fatal(err)
	}
	var header struct{ Kid string }
	if err := json.Unmarshal(raw, &header); err != nil {
		t.Fatal(err)
	}
	return header.Kid
}

// ageAssertionKeys makes the stored keys older, as if time had passed.
func ageAssertionKeys(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(assertion.StorageKey))
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	for _, key := range stored.Keys {
		from, err := time.Parse(time.RFC3339Nano, key["use_from"].(string))
		if err != nil {
			t.Fatal(err)
		}
		key["use_from"] = from.Add(-by)
	}
	if err := os.WriteFile(path, marshal(t, stored), 0o600); err != nil {
		t.Fatal(err)
	}
}

// resolvable gives a document of the gateway an address that needs no DNS, which
// does not know *.localhost everywhere.
func (g *gateway) resolvable(t *testing.T, url string) string {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a := g.nobody().send(t, http.MethodGet, url, "", nil)
		maps.Copy(w.Header(), a.header)
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body)
	}))
	t.Cleanup(front.Close)
	return front.URL
}
