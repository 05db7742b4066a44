package caddymodule

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/revocation"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

func init() {
	adminRoutes = append(
		adminRoutes,
		caddy.AdminRoute{Pattern: revocationsPath, Handler: caddy.AdminHandlerFunc(adminAPI{}.handleRevocations)},
		caddy.AdminRoute{Pattern: revocationsPath + "/", Handler: caddy.AdminHandlerFunc(adminAPI{}.handleRevocation)},
	)
}

const revocationsPath = "/mcp_app/revocations"

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
	body, err := readAdmin(w, r)
	if err != nil {
		return err
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
