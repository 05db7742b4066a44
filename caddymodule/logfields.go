package caddymodule

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// publish makes the verified identity known to the rest of the Caddyfile.
func (m *Handler) publish(r *http.Request, p *policy.Principal) {
	repl := replacerOf(r)
	// Set, so that nothing of another login before us stays.
	repl.Set("http.auth.user.id", p.Subject)
	repl.Set("http.auth.user.issuer", p.Issuer)
	repl.Set("http.auth.user.tenant", p.Tenant)
	repl.Set("http.auth.user.client_id", p.ClientID)
	// Answered when asked: most requests ask for none of them.
	repl.Map(func(key string) (any, bool) {
		switch key {
		case "http.mcp_app.subject":
			return p.Subject, true
		case "http.mcp_app.issuer":
			return p.Issuer, true
		case "http.mcp_app.tenant":
			return p.Tenant, true
		default:
			return nil, false
		}
	})
	logField(r, zap.String("mcp_tenant", p.Tenant))
}

// logField adds a field to the access log.
func logField(r *http.Request, field zap.Field) {
	if extra, ok := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
		extra.Set(field)
	}
}

func clientIP(r *http.Request) string {
	ip, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	return ip
}
