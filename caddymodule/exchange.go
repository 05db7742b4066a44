package caddymodule

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// exchangeToken puts a token made for the server in the place of the caller's,
// and reports whether it could not be had and the answer has been written. The
// caller's token never goes on.
func (e *exchange) exchangeToken(w http.ResponseWriter, bearer string) (done bool) {
	if e.exchanger == nil || bearer == "" {
		return false
	}
	upstream, err := e.exchanger.Exchange(e.r.Context(), bearer)
	if err == nil {
		e.r.Header.Set("Authorization", "Bearer "+upstream.Token)
		return false
	}
	status, message := http.StatusServiceUnavailable, "temporarily unavailable"
	if failed, ok := errors.AsType[*token.ExchangeError](err); ok {
		switch failed.Kind {
		case token.ExchangeDenied:
			status, message = http.StatusForbidden, "access denied"
		case token.ExchangeMisconfigured:
			status, message = http.StatusBadGateway, "bad gateway"
		default:
			w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(failed.RetryAfter.Seconds())))))
		}
	}
	e.logger.Warn("no token for the server", zap.Int("status", status), zap.Error(err))
	writeError(w, &mcp.Error{Status: status, Code: codeAuthorization, Message: message, ID: e.requestID()})
	return true
}
