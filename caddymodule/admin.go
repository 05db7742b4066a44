package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
)

func init() { caddy.RegisterModule(adminAPI{}) }

// adminAPI adds to Caddy's admin endpoint:
//
// Request | Effect
// --------|-------
// `POST /mcp_app/revocations` | Revokes `{"jti"}`, `{"subject","issuer"}` or `{"tenant"}`, optionally with `"issued_before"` (a time) and `"ttl"` (how long such tokens may still live, default 24h): 201 and the entry
// `GET /mcp_app/revocations` | Lists what is revoked
// `DELETE /mcp_app/revocations/<id>` | Takes a revocation back: 204
// `POST /mcp_app/registrations` | Makes a registration of `{"endpoint","tools"}`, optionally with `"max_calls"` (default 12), `"ttl"` (default 1h) and `"principal"`: 201 with its id, URL and handle
// `GET /mcp_app/registrations` | Lists registrations, without their ids
// `GET /mcp_app/registrations/<handle>` | Tells how far one has got
// `GET /mcp_app/registrations/<handle>/events` | Streams its progress (server-sent events)
// `DELETE /mcp_app/registrations/<handle>` | Ends it: 204
// `GET /mcp_app/endpoints` | Lists the endpoints of the running configuration, without secrets
// `POST /mcp_app/explain` | Tells what one principal sees at an endpoint and which rule decides: `{"endpoint"}` with `"token"` or `"claims"`, optionally `"tenant"`, `"host"`, `"tool"`, `"refresh"`
// `POST /mcp_app/catalog` | Shows the tools as that principal gets them, and what is hidden from it
// `GET /mcp_app/findings` | Lists what is wrong as far as the running configuration has seen it, of one endpoint with `?endpoint=<path>`
// `GET /mcp_app/ready` | Tells whether every endpoint could serve a caller now: 200, or 503 with the reasons
// `GET /mcp_app/events` | Streams decisions as they are made (server-sent events), of one endpoint with `?endpoint=<path>`
//
// A revocation holds for all endpoints of this Caddy and of those it shares
// state with. 201 means that neither a restart nor the loss of this Caddy undoes
// it; after any error it is safe to ask again.
type adminAPI struct{}

// adminRoutes are its routes. A file with a route adds it in an init function.
var adminRoutes []caddy.AdminRoute

// maxAdminBody is more than a token or claims of the greatest length need.
const maxAdminBody = 128 << 10

// CaddyModule returns the Caddy module information.
func (adminAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.mcp_app", New: func() caddy.Module { return new(adminAPI) }}
}

// Routes implements caddy.AdminRouter.
func (adminAPI) Routes() []caddy.AdminRoute { return adminRoutes }

// readAdmin reads the JSON body of a request.
func readAdmin(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// A page in a browser cannot send this type without asking first.
	if !mcp.IsJSON(r.Header.Get("Content-Type")) {
		return nil, caddy.APIError{HTTPStatus: http.StatusUnsupportedMediaType, Err: errors.New("the Content-Type must be application/json")}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, caddy.APIError{HTTPStatus: http.StatusRequestEntityTooLarge, Err: fmt.Errorf("the body is larger than %d bytes", tooLarge.Limit)}
	case err != nil:
		return nil, caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: fmt.Errorf("reading the body: %w", err)}
	}
	return body, nil
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request, allowed string) error {
	w.Header().Set("Allow", allowed)
	return caddy.APIError{HTTPStatus: http.StatusMethodNotAllowed, Err: fmt.Errorf("method %s is not allowed here, only %s", r.Method, allowed)}
}

func writeAdmin(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return caddy.APIError{HTTPStatus: http.StatusInternalServerError, Err: err}
	}
	writeBody(w, status, "application/json", append(body, '\n'))
	return nil
}

// Interface guards
var _ caddy.AdminRouter = (*adminAPI)(nil)
