package caddymodule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// Registrations says how clients name an ephemeral registration, which narrows
// what they see to a few tools for a number of calls. Registrations are made
// with the admin API, and kept in the state of the endpoint.
type Registrations struct {
	// Parameter of the query that holds the id. Requests that write it in any
	// other way are refused. Default: registration.
	Parameter string `json:"parameter,omitempty"`
	// Header that may hold the id instead, beginning with X-. Default:
	// X-Mcp-App-Registration.
	Header string `json:"header,omitempty"`
	// MaxTTL is the longest life a registration may have, at most 400 days.
	// Default: 24h.
	MaxTTL caddy.Duration `json:"max_ttl,omitempty"`
}

const (
	defaultRegistrationParameter = "registration"
	defaultRegistrationHeader    = "X-Mcp-App-Registration"

	registrationNotFound = "Registration not found"
)

// parseRegistrations reads:
//
//	registrations {
//		parameter <name>
//		header    <name>
//		max_ttl   <duration>
//	}
func (m *Handler) parseRegistrations(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Registrations != nil); err != nil {
		return err
	}
	m.Registrations = &Registrations{}
	return block(d, map[string]subdirective{
		"parameter": checked(&m.Registrations.Parameter, checkParameterName),
		"header":    checked(&m.Registrations.Header, checkRegistrationHeader),
		"max_ttl":   plainDuration(func(v time.Duration) { m.Registrations.MaxTTL = caddy.Duration(v) }),
	})
}

// checked reads one argument that check accepts.
func checked(into *string, check func(string) error) subdirective {
	return func(d *caddyfile.Dispenser) error {
		if err := scalar(into)(d); err != nil {
			return err
		}
		return wrapped(d, check(*into))
	}
}

var (
	parameterName          = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	registrationHeaderName = regexp.MustCompile(`^[Xx]-[A-Za-z0-9-]{1,64}$`)
)

func checkParameterName(name string) error {
	if !parameterName.MatchString(name) {
		return fmt.Errorf("the parameter %q must be letters, digits, _ and -, and begin with a letter", name)
	}
	return nil
}

func checkRegistrationHeader(name string) error {
	if !registrationHeaderName.MatchString(name) {
		return fmt.Errorf("the header %q must begin with X- and have only letters, digits and - in it", name)
	}
	return nil
}

// provisionRegistrations fills in the defaults.
func (m *Handler) provisionRegistrations() error {
	c := *cmp.Or(m.Registrations, &Registrations{})
	m.registrationNames = registrationNames{
		parameter: cmp.Or(c.Parameter, defaultRegistrationParameter),
		header:    http.CanonicalHeaderKey(cmp.Or(c.Header, defaultRegistrationHeader)),
	}
	m.registrationTTL = cmp.Or(time.Duration(c.MaxTTL), registration.DefaultMaxTTL)
	if m.registrationTTL < 0 || m.registrationTTL > state.MaxTTL-registration.Retention {
		return fmt.Errorf("max_ttl must be between 0 and %s", state.MaxTTL-registration.Retention)
	}
	m.registry = registration.New(m.state.store)
	return errors.Join(checkParameterName(m.registrationNames.parameter), checkRegistrationHeader(m.registrationNames.header))
}

// registeredEndpoint is what a registration for this endpoint is bound to.
func (m *Handler) registeredEndpoint() registration.Endpoint {
	return registration.Endpoint{Path: m.Path, Resource: m.Resource}
}

// malformedRegistration is the answer to a request that names a registration in
// a way nobody may read.
var malformedRegistration = &refusal{http.StatusBadRequest, "malformed registration", "the request names a registration more than once, in another spelling, or by something that is no id"}

// enter narrows the exchange to the registration that the request named. Errors
// are *mcp.Error: one for every id that is not valid here and now for this
// caller, so that nobody learns which ids there are.
func (e *exchange) enter() error {
	if e.registered == nil {
		return nil
	}
	p := e.principal
	found, err := e.registry.Find(e.r.Context(), *e.registered, e.registeredEndpoint(), registration.Principal{Issuer: p.Issuer, Subject: p.Subject, Tenant: p.Tenant})
	if err != nil {
		return e.registrationRefused(err)
	}
	e.health[useRegistration].worked(e.logger)
	e.registration = found
	e.view.View = e.view.Within(found.Tools)
	return nil
}

// causeOf sorts a refusal of open.
func (e *exchange) causeOf(err error) string {
	var refused *mcp.Error
	if errors.As(err, &refused) && refused.Message == registrationNotFound {
		return causeRegistration
	}
	return causeMessage
}

// countCall counts a call of a tool that is about to be sent.
func (e *exchange) countCall() error {
	if e.registration == nil || e.message.Method != "tools/call" {
		return nil
	}
	if err := e.registry.Call(e.r.Context(), e.registration); err != nil {
		return e.registrationRefused(err)
	}
	return nil
}

func (e *exchange) registrationRefused(err error) error {
	if errors.Is(err, registration.ErrNotFound) {
		return &mcp.Error{Status: http.StatusNotFound, Code: mcp.CodeInvalidRequest, Message: registrationNotFound, ID: e.requestID()}
	}
	if e.r.Context().Err() == nil { // the client still waits
		e.health[useRegistration].failed(e.logger, err)
	}
	return &mcp.Error{Status: http.StatusServiceUnavailable, Code: mcp.CodeInternalError, Message: "temporarily unavailable", ID: e.requestID()}
}

// guardRegistration ends what goes on under a registration when that ends. Calls
// that are running were counted and may finish, unless the operator took the
// registration back.
func (e *exchange) guardRegistration() (release func()) {
	if e.registration == nil || !e.streams() && (e.message == nil || e.message.Method != "tools/call") {
		return nil
	}
	return e.registry.Guard(e.registration, func(reason error) {
		end, known := errors.AsType[*registration.EndedError](reason)
		if e.streams() || known && end.Reason == registration.Deleted {
			e.end(causeRegistration, reason.Error())
		}
	})
}

// noteStart remembers whether a client could begin under the registration. One
// that never could would be waited for in vain.
func (e *exchange) noteStart(status int) {
	if e.registration == nil || e.message == nil || e.message.Method != "initialize" && e.message.Method != "server/discover" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.r.Context()), 2*time.Second)
	defer cancel()
	var err error
	switch {
	case status >= http.StatusInternalServerError:
		err = e.registry.FailStart(ctx, e.registration)
	case status >= http.StatusOK && status < http.StatusMultipleChoices:
		err = e.registry.Started(ctx, e.registration)
	}
	if err != nil {
		e.logger.Warn("the beginning of a registration cannot be noted", zap.String("registration", e.registration.Handle.String()), zap.Error(err))
	}
}

// registrationURL is where a client of the registration connects, absolute if
// the endpoint's public URL is known.
func (m *Handler) registrationURL(id, tenant string) string {
	address := m.Path
	for _, route := range m.routes {
		if route.tenant == "" || route.tenant == tenant {
			address = route.resource
		}
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + m.registrationNames.parameter + "=" + id
}
