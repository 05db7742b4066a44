package caddymodule

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

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
	t := trailOf(r)
	t.published = p
	t.addToLog(r)
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

// addToLog lets the access log ask the trail what is known, when an entry is
// written, if one is.
func (t *trail) addToLog(r *http.Request) {
	extra, ok := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields)
	if !ok {
		return
	}
	field := zap.Inline(t)
	if t.inLog {
		if t.decision == "" {
			return
		}
		// Handlers behind us may have logged with what was known then, and Caddy
		// remembers that until there is another field.
		field = zap.Skip()
	}
	t.inLog = true
	extra.Add(field)
}

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (t *trail) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	if t.published != nil && !t.published.Anonymous {
		enc.AddString("mcp_tenant", t.published.Tenant)
	}
	if t.message != nil {
		enc.AddString("mcp_method", loggable(t.message.Method))
		if t.name != "" {
			enc.AddString("mcp_name", loggable(t.name))
		}
	}
	if t.decision != "" {
		enc.AddString("mcp_decision", t.decision)
	}
	return nil
}

func clientIP(r *http.Request) string {
	ip, _ := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string)
	return ip
}
