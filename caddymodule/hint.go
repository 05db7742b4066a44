package caddymodule

import (
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// hintInterval keeps a misconfigured endpoint from filling the log.
const hintInterval = time.Minute

// hints limits warnings that tell an operator which line to write. An endpoint
// that refuses everybody on its first day is most often wrong in one word.
type hints struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether a hint of this kind may be given again. Kinds are few and
// fixed.
func (h *hints) due(kind string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = make(map[string]time.Time)
	}
	if now.Sub(h.last[kind]) < hintInterval {
		return false
	}
	h.last[kind] = now
	return true
}

// hintMismatch explains a token that was signed correctly and refused all the
// same, which is rarely an attack.
func (m *Handler) hintMismatch(bad *token.Error) {
	if bad == nil || bad.Mismatch == nil || !m.hints.due(bad.Mismatch.Member, time.Now()) {
		return
	}
	mismatch := bad.Mismatch
	fix := "if tokens with this value are meant for this endpoint, write in auth: "
	if line := lineFor(mismatch); line != "" {
		fix += line
	} else {
		fix = hintAudience
	}
	m.logger.Warn("an otherwise good token was refused",
		zap.String("issuer", mismatch.Issuer), zap.String("member", mismatch.Member),
		zap.Strings("seen", mismatch.Seen), zap.Strings("expected", mismatch.Want),
		zap.String("fix", fix))
}

const hintAudience = "let the authorization server put aud into its tokens or introspection answers"

// lineFor is the line of the auth block that would accept such a token, empty if
// there is none.
func lineFor(mismatch *token.Mismatch) string {
	seen := strings.Join(mismatch.Seen, " ")
	switch {
	case mismatch.Member == "typ" && strings.EqualFold(seen, "JWT"):
		return "token_type jwt"
	case mismatch.Member == "typ":
		return "token_type any"
	case seen == "":
		return ""
	default:
		return "audience " + seen
	}
}

// hintTenant explains a good token that names no tenant or another one.
func (m *Handler) hintTenant(claims *token.Claims, refused error) {
	if !m.hints.due("tenant", time.Now()) {
		return
	}
	m.logger.Warn("a correctly signed token was refused for its tenant",
		zap.String("issuer", claims.Issuer), zap.Error(refused),
		zap.String("fix", "compare the claim in tenant { claim … }, the route in require and the list in allow with the token"))
}
