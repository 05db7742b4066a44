package openai

import (
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestSecuritySchemesStandInBothPlaces(t *testing.T) {
	tests := []struct {
		name, tool string
		security   Security
		want       string
	}{
		{"token with scopes", `{"name":"t"}`, Security{OAuth: true, Scopes: []string{"a", "b"}}, `{"name":"t","securitySchemes":[{"type":"oauth2","scopes":["a","b"]}],"_meta":{"securitySchemes":[{"type":"oauth2","scopes":["a","b"]}]}}`},
		{"open to all", `{"name":"t","_meta":{"ui":{}}}`, Security{Anonymous: true}, `{"name":"t","_meta":{"ui":{},"securitySchemes":[{"type":"noauth"}]},"securitySchemes":[{"type":"noauth"}]}`},
		{"the server's own is replaced", `{"name":"t","securitySchemes":[{"type":"oauth2"}]}`, Security{Anonymous: true}, `{"name":"t","securitySchemes":[{"type":"noauth"}],"_meta":{"securitySchemes":[{"type":"noauth"}]}}`},
	}
	for _, tt := range tests {
		got, err := SecuritySchemes(rawjson.Value(tt.tool), tt.security)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v\nwant %s", tt.name, got, err, tt.want)
		}
	}
	if _, err := SecuritySchemes(rawjson.Value(`{"_meta":"text"}`), Security{}); err == nil {
		t.Error("_meta that is no object was replaced")
	}
}
