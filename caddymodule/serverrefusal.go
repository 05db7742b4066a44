package caddymodule

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// answerToRefusal returns what a caller gets in place of a 401 or 403 of the
// server behind, nil where the server's answer stands. The server's challenges
// never pass where tokens are judged here: they lead clients to a document about
// another resource (agentgateway 234).
//
//   - 401 to a caller without a token: our own challenge. The server wants to
//     know who calls.
//   - 401 to the caller's own token (forward_token): our own challenge, since
//     the server is the same resource and knows more about the token than we do.
//   - 401 to anybody else: 502. The caller's token is good; what the server does
//     not accept is the gateway, and a new login would not change that.
//   - 403 with insufficient_scope to the caller's own token: our own challenge
//     for the scopes the server names. Any other 403 stands, without challenge.
func (e *exchange) answerToRefusal(status int, challenges []string) func(http.ResponseWriter) {
	if !e.authenticates() {
		return nil
	}
	forwarded := e.forwardsToken() && !e.principal.Anonymous
	switch {
	case status == http.StatusUnauthorized && (e.principal.Anonymous || forwarded):
		return func(w http.ResponseWriter) {
			challenge := token.Challenge{ResourceMetadata: e.route.metadataURL, Scopes: e.Auth.Scopes}
			code, description := "login_required", "this needs an access token"
			if forwarded {
				code, description = string(token.InvalidToken), "the access token is not valid for this resource"
				challenge.Error, challenge.Description = code, description
			}
			e.deny(e.r, causeToken, "the server answers 401")
			w.Header().Set("WWW-Authenticate", challenge.Header())
			e.writeAuthError(w, e.unreadRequest(), status, code, description)
		}
	case status == http.StatusUnauthorized:
		return func(w http.ResponseWriter) {
			e.logger.Error("the server does not accept the gateway: it answers 401 to a caller whose token is good",
				zap.String("subject", loggable(e.principal.Subject)), zap.Strings("server_challenge", errorsOf(challenges)),
				zap.String("fix", "let the server trust the identity headers or the assertion, or give it a token with identity { exchange … }; if it is the same resource, write identity { forward_token }"))
			writeError(w, &mcp.Error{Status: http.StatusBadGateway, Code: mcp.CodeInternalError, Message: http.StatusText(http.StatusBadGateway), ID: e.requestID()})
		}
	case status == http.StatusForbidden && forwarded:
		needed, ok := scopesAskedFor(challenges)
		if !ok {
			return nil
		}
		return func(w http.ResponseWriter) {
			e.deny(e.r, causeScope, "the server asks for more scopes: "+strings.Join(needed, " "))
			e.stepUp(w, e.unreadRequest(), e.route, policy.Union(policy.Union(e.Auth.Scopes, needed), e.principal.Scopes))
		}
	default:
		return nil
	}
}

// unreadRequest is the caller's request with its message still to be read, for
// answers that look for the id in it.
func (e *exchange) unreadRequest() *http.Request {
	if e.message == nil {
		return e.r
	}
	r := *e.r
	r.Body = io.NopCloser(bytes.NewReader(e.message.Body))
	return &r
}

// scopesAskedFor reads a challenge with the error insufficient_scope.
func scopesAskedFor(challenges []string) ([]string, bool) {
	challenge, err := token.ParseChallenge(strings.Join(challenges, ", "))
	if err != nil || challenge.Error != token.InsufficientScope {
		return nil, false
	}
	return challenge.Scopes, true
}

// errorsOf lists the error codes of challenges, for the log.
func errorsOf(challenges []string) []string {
	var codes []string
	for _, value := range challenges {
		if challenge, err := token.ParseChallenge(value); err == nil && challenge.Error != "" {
			codes = append(codes, challenge.Error)
		}
	}
	return codes
}
