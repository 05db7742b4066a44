package caddymodule

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// publish makes the verified identity known to the rest of the Caddyfile; of
// callers without a token it says nothing.
func (m *Handler) publish(r *http.Request, p *policy.Principal) {
	repl := replacerOf(r)
	if _, taken := repl.Get("http.auth.user.id"); taken {
		// Another login before us must not stay: what it says would be found first.
		for key, value := range userPlaceholders {
			repl.Set(key, value(p))
		}
	}
	trailOf(r).published = p
	if !p.Anonymous {
		logField(r, zap.String("mcp_tenant", p.Tenant))
	}
}

// userPlaceholders are those that say who calls.
var userPlaceholders = map[string]func(*policy.Principal) string{
	"http.auth.user.id":        func(p *policy.Principal) string { return p.Subject },
	"http.auth.user.issuer":    func(p *policy.Principal) string { return p.Issuer },
	"http.auth.user.tenant":    func(p *policy.Principal) string { return p.Tenant },
	"http.auth.user.client_id": func(p *policy.Principal) string { return p.ClientID },
	"http.mcp_app.issuer":      func(p *policy.Principal) string { return p.Issuer },
	"http.mcp_app.subject":     func(p *policy.Principal) string { return p.Subject },
	"http.mcp_app.tenant":      func(p *policy.Principal) string { return p.Tenant },
}

// placeholder implements caddy.ReplacerFunc. Most requests ask for none, so that
// nothing is made ready for them.
func (t *trail) placeholder(key string) (any, bool) {
	if user := userPlaceholders[key]; user != nil && t.published != nil {
		return user(t.published), true
	}
	if t.message != nil {
		switch key {
		case "http.mcp_app.method":
			return t.message.Method, true
		case "http.mcp_app.era":
			return t.message.Era.String(), true
		}
	}
	return nil, false
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
