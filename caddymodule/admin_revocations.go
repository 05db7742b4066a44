package caddymodule

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/revocation"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

func init() { caddy.RegisterModule(adminAPI{}) }

// adminAPI adds to Caddy's admin endpoint:
//
// Request | Effect
// --------|-------
// `POST /mcp_app/revocations` | Revokes `{"jti"}`, `{"subject","issuer"}` or `{"tenant"}`, optionally with `"issued_before"` (a time) and `"ttl"` (how long such tokens may still live, default 24h): 201 and the entry
// `GET /mcp_app/revocations` | Lists what is revoked
// `DELETE /mcp_app/revocations/<id>` | Takes a revocation back: 204
//
// A revocation holds for all endpoints of this Caddy and of those it shares
// state with. 201 means that neither a restart nor the loss of this Caddy undoes
// it; after any error it is safe to ask again.
type adminAPI struct{}

const (
	revocationsPath = "/mcp_app/revocations"
	// maxAdminBody is far more than four texts of the greatest length need.
	maxAdminBody = 64 << 10
)

// CaddyModule returns the Caddy module information.
func (adminAPI) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.mcp_app", New: func() caddy.Module { return new(adminAPI) }}
}

// Routes implements caddy.AdminRouter.
func (a adminAPI) Routes() []caddy.AdminRoute {
	return []caddy.AdminRoute{
		{Pattern: revocationsPath, Handler: caddy.AdminHandlerFunc(a.handleRevocations)},
		{Pattern: revocationsPath + "/", Handler: caddy.AdminHandlerFunc(a.handleRevocation)},
	}
}

func (a adminAPI) handleRevocations(w http.ResponseWriter, r *http.Request) error {
	switch r.Method {
	case http.MethodGet:
		return a.listRevocations(w, r)
	case http.MethodPost:
		return a.revoke(w, r)
	default:
		return methodNotAllowed(w, r, "GET, POST")
	}
}

func (adminAPI) listRevocations(w http.ResponseWriter, r *http.Request) error {
	lists, err := loadedRevocations()
	if err != nil {
		return err
	}
	byID := make(map[string]revocation.Entry)
	for _, list := range lists {
		entries, err := list.Entries(r.Context())
		if err != nil {
			return adminError(err)
		}
		for _, e := range entries {
			byID[e.ID] = e
		}
	}
	entries := slices.SortedFunc(maps.Values(byID), func(a, b revocation.Entry) int {
		return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.ID, b.ID))
	})
	if entries == nil {
		entries = []revocation.Entry{}
	}
	return writeAdmin(w, http.StatusOK, map[string]any{"revocations": entries})
}

func (adminAPI) revoke(w http.ResponseWriter, r *http.Request) error {
	// A page in a browser cannot send this type without asking first.
	if !mcp.IsJSON(r.Header.Get("Content-Type")) {
		return caddy.APIError{HTTPStatus: http.StatusUnsupportedMediaType, Err: errors.New("the Content-Type must be application/json")}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return caddy.APIError{HTTPStatus: http.StatusRequestEntityTooLarge, Err: fmt.Errorf("the body is larger than %d bytes", tooLarge.Limit)}
	case err != nil:
		return caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: fmt.Errorf("reading the body: %w", err)}
	}
	request, err := revocation.ParseRequest(body)
	if err != nil {
		return caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: err}
	}
	lists, err := loadedRevocations()
	if err != nil {
		return err
	}
	var entry revocation.Entry
	var failed []error
	for _, list := range lists {
		e, err := list.Revoke(r.Context(), request)
		failed = append(failed, err)
		if err == nil && e.Expires.After(entry.Expires) {
			entry = e
		}
	}
	err = errors.Join(failed...)
	caddy.Log().Named("admin.api.mcp_app").Info("access revoked",
		zap.String("jti", request.JTI), zap.String("issuer", request.Issuer), zap.String("subject", request.Subject),
		zap.String("tenant", request.Tenant), zap.Time("issued_before", request.IssuedBefore),
		zap.String("remote_addr", r.RemoteAddr), zap.Error(err))
	if err != nil {
		return adminError(err)
	}
	w.Header().Set("Location", revocationsPath+"/"+entry.ID)
	return writeAdmin(w, http.StatusCreated, entry)
}

func (adminAPI) handleRevocation(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodDelete {
		return methodNotAllowed(w, r, "DELETE")
	}
	id := strings.TrimPrefix(r.URL.Path, revocationsPath+"/")
	lists, err := loadedRevocations()
	if err != nil {
		return err
	}
	found := false
	for _, list := range lists {
		// What is not known yet must not look like what does not exist.
		if _, err := list.Entries(r.Context()); err != nil {
			return adminError(err)
		}
		switch err := list.Lift(r.Context(), id); {
		case err == nil:
			found = true
		case !errors.Is(err, revocation.ErrNotFound):
			return adminError(err)
		}
	}
	if !found {
		return adminError(revocation.ErrNotFound)
	}
	caddy.Log().Named("admin.api.mcp_app").Info("revocation lifted", zap.String("id", id), zap.String("remote_addr", r.RemoteAddr))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// loadedRevocations returns the lists of all endpoints of the configuration.
func loadedRevocations() ([]*revocation.List, error) {
	var lists []*revocation.List
	revocationPool.Range(func(_, value any) bool {
		lists = append(lists, value.(pooledRevocations).List)
		return true
	})
	if len(lists) == 0 {
		return nil, caddy.APIError{HTTPStatus: http.StatusServiceUnavailable, Err: errors.New("no mcp_app endpoint that takes tokens is loaded")}
	}
	return lists, nil
}

// adminError gives an error the status that says whose turn it is.
func adminError(err error) error {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, revocation.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, revocation.ErrFull):
		status = http.StatusInsufficientStorage
	case errors.Is(err, revocation.ErrStale), errors.Is(err, state.ErrUnavailable):
		status = http.StatusServiceUnavailable
	}
	return caddy.APIError{HTTPStatus: status, Err: err}
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
