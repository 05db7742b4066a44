package caddymodule

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

func init() {
	adminRoutes = append(
		adminRoutes,
		caddy.AdminRoute{Pattern: registrationsPath, Handler: caddy.AdminHandlerFunc(adminAPI{}.handleRegistrations)},
		caddy.AdminRoute{Pattern: registrationsPath + "/", Handler: caddy.AdminHandlerFunc(adminAPI{}.handleRegistration)},
	)
}

const registrationsPath = "/mcp_app/registrations"

// madeRegistration is the answer to the request for one. It is the only one that
// holds the id.
type madeRegistration struct {
	ID  string `json:"id"`
	URL string `json:"url"`
	registration.Progress
}

func (a adminAPI) handleRegistrations(w http.ResponseWriter, r *http.Request) error {
	switch r.Method {
	case http.MethodGet:
		return a.listRegistrations(w, r)
	case http.MethodPost:
		return a.register(w, r)
	default:
		return methodNotAllowed(w, r, "GET, POST")
	}
}

func (adminAPI) listRegistrations(w http.ResponseWriter, r *http.Request) error {
	all := []registration.Progress{}
	for _, registry := range runningRegistries() {
		known, err := registry.All(r.Context())
		if err != nil {
			return registrationError(err)
		}
		all = append(all, known...)
	}
	slices.SortFunc(all, func(a, b registration.Progress) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Handle, b.Handle))
	})
	return writeAdmin(w, http.StatusOK, map[string]any{"registrations": all})
}

func (adminAPI) register(w http.ResponseWriter, r *http.Request) error {
	body, err := readAdmin(w, r)
	if err != nil {
		return err
	}
	bad := func(err error) error { return caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: err} }
	request, err := registration.ParseRequest(body, state.MaxTTL)
	if err != nil {
		return bad(err)
	}
	_, list := runningEndpoints()
	m, err := chooseEndpoint(list, request.Endpoint)
	if err != nil {
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: err}
	}
	// Now that it is known whose bound holds.
	if request, err = registration.ParseRequest(body, m.registrationTTL); err != nil {
		return bad(err)
	}
	tenant := ""
	if p := request.Principal; p != nil {
		tenant = p.Tenant
		switch {
		case !m.authenticates():
			return bad(errors.New("the endpoint has auth { mode none }: nobody is known there, and so no principal can be named"))
		case tenant != "" && m.Tenant == nil:
			return bad(errors.New("the endpoint has no tenant block: leave the tenant out"))
		case tenant != "" && !m.tenancy.Allows(tenant):
			return bad(fmt.Errorf("the endpoint does not serve the tenant %q", tenant))
		}
	}
	id, made, err := m.registry.Create(r.Context(), m.registeredEndpoint(), request)
	if err != nil {
		return registrationError(err)
	}
	progress, err := m.registry.Progress(r.Context(), made.Handle)
	if err != nil {
		return registrationError(err)
	}
	caddy.Log().Named("admin.api.mcp_app").Info("registration made",
		zap.String("registration", made.Handle.String()), zap.String("endpoint", m.Path), zap.Strings("tools", made.Tools),
		zap.Int64("max_calls", made.MaxCalls), zap.Time("expires", made.Expires), zap.String("remote_addr", r.RemoteAddr))
	w.Header().Set("Location", registrationsPath+"/"+made.Handle.String())
	return writeAdmin(w, http.StatusCreated, madeRegistration{id, m.registrationURL(id, tenant), progress})
}

// handleRegistration serves one registration, by its handle or its id.
func (a adminAPI) handleRegistration(w http.ResponseWriter, r *http.Request) error {
	name, events := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, registrationsPath+"/"), "/events")
	handle, ok := registration.ParseHandle(name)
	if !ok {
		handle, ok = registration.ParseID(name)
	}
	if !ok {
		return registrationError(registration.ErrNotFound)
	}
	switch {
	case r.Method == http.MethodGet && events:
		return a.registrationEvents(w, r, handle)
	case events:
		return methodNotAllowed(w, r, "GET")
	case r.Method == http.MethodGet:
		_, progress, err := findRegistration(r, handle)
		if err != nil {
			return registrationError(err)
		}
		return writeAdmin(w, http.StatusOK, progress)
	case r.Method == http.MethodDelete:
		registry, _, err := findRegistration(r, handle)
		if err == nil {
			err = registry.End(r.Context(), handle)
		}
		if err != nil {
			return registrationError(err)
		}
		caddy.Log().Named("admin.api.mcp_app").Info("registration ended", zap.String("registration", handle.String()), zap.String("remote_addr", r.RemoteAddr))
		w.WriteHeader(http.StatusNoContent)
		return nil
	default:
		return methodNotAllowed(w, r, "GET, DELETE")
	}
}

// registrationEvents streams the progress of a registration as server-sent
// events, the present state first:
//
//	event: progress    data: the registration, with calls and max_calls
//	event: end         data: the same, with the reason in "ended"
//
// Without an event: end the stream has been cut, by a reload for example, and
// may be opened again.
func (adminAPI) registrationEvents(w http.ResponseWriter, r *http.Request, handle registration.Handle) error {
	running, _ := runningEndpoints()
	registry, progress, err := findRegistration(r, handle)
	if err != nil {
		return registrationError(err)
	}
	noDeadline(w)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	stream := eventStream{w, http.NewResponseController(w)}
	told := time.Time{}
	calls := int64(-1)
	return follow(r.Context(), running.Done(), registry, handle, progress, func(p registration.Progress) error {
		event := "progress"
		switch {
		case p.Ended != "":
			event = "end"
		case p.Calls == calls && time.Since(told) < eventsKeepAlive:
			return nil
		case p.Calls == calls:
			told = time.Now()
			return stream.send(": keep-alive\n\n")
		}
		calls, told = p.Calls, time.Now()
		data, err := json.Marshal(p)
		if err != nil {
			return err
		}
		return stream.send("event: " + event + "\ndata: " + string(data) + "\n\n")
	})
}

// runningRegistries are those of the running configuration, one for each store.
func runningRegistries() []*registration.Registry {
	_, list := runningEndpoints()
	var registries []*registration.Registry
	seen := make(map[state.Store]bool)
	for _, m := range list {
		if !seen[m.state.store] {
			seen[m.state.store] = true
			registries = append(registries, m.registry)
		}
	}
	return registries
}

// findRegistration looks a registration up in every store.
func findRegistration(r *http.Request, handle registration.Handle) (*registration.Registry, registration.Progress, error) {
	for _, registry := range runningRegistries() {
		progress, err := registry.Progress(r.Context(), handle)
		if !errors.Is(err, registration.ErrNotFound) {
			return registry, progress, err
		}
	}
	return nil, registration.Progress{}, registration.ErrNotFound
}

func registrationError(err error) error {
	if errors.Is(err, registration.ErrNotFound) {
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: err}
	}
	return adminError(err)
}
