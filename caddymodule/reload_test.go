package caddymodule

import (
	"net/http"
	"testing"
)

// After a reload requests on old connections still run through the old handler,
// which has been cleaned up by then. They are answered as before.
func TestACleanedUpHandlerStillServes(t *testing.T) {
	g := newTenantGateway(t, "", "tenant {\nclaim org_id\n}\npolicy {\ntool catalog_get\n}\nopenai {\nsettings a b\n}\n")
	bearer := "Bearer " + g.token(t, map[string]any{"id": "u1", "tenantId": "t1"}, nil)
	ask := func(when, authorization string, want int) {
		t.Helper()
		for _, body := range []string{call("tools/call", "name", "catalog_get"), listRequest, call("resources/read", "uri", "ui://acme/v1/board")} {
			if w := g.send(t, authorization, body); w.Code != want {
				t.Errorf("%s: %d %s, want %d", when, w.Code, w.Body, want)
			}
		}
	}
	ask("before", bearer, http.StatusOK)
	if err := g.Cleanup(); err != nil {
		t.Fatal(err)
	}
	ask("afterwards", bearer, http.StatusOK)
	ask("afterwards, with another token", "Bearer "+g.token(t, map[string]any{"id": "u2", "tenantId": "t2"}, nil), http.StatusOK)
	ask("afterwards, with a bad token", bearer[:len(bearer)-8]+"AAAAAAAA", http.StatusUnauthorized)
}
