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
	repl.Set("http.auth.user.id", p.Subject)
	repl.Set("http.auth.user.issuer", p.Issuer)
	repl.Set("http.auth.user.tenant", p.Tenant)
	repl.Set("http.auth.user.client_id", p.ClientID)
	repl.Set("http.mcp_app.issuer", p.Issuer)
	repl.Set("http.mcp_app.subject", p.Subject)
	repl.Set("http.mcp_app.tenant", p.Tenant)
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
