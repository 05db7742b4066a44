package caddymodule

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/membership"
)

func init() {
	caddy.RegisterModule(MembersClaims{})
	caddy.RegisterModule(MembersFile{})
	caddy.RegisterModule(MembersHTTP{})
}

// MembersClaims trusts the token: whoever has one for the tenant is a member of
// it until it ends. It is what holds without a members line.
type MembersClaims struct{ membership.Claims }

// CaddyModule returns the Caddy module information.
func (MembersClaims) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "mcp_app.membership.claims", New: func() caddy.Module { return new(MembersClaims) }}
}

// MembersFile looks members up in a file, which is read again when it changes:
//
//	{"members":[{"issuer":"…","subject":"…","tenant":"…","roles":["…"],"scopes":["…"],"disabled":false}]}
type MembersFile struct {
	membership.FileConfig

	*membership.File     `json:"-"`
	*membership.Watchers `json:"-"`
	*membership.Holds    `json:"-"`
}

// CaddyModule returns the Caddy module information.
func (MembersFile) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "mcp_app.membership.file", New: func() caddy.Module { return new(MembersFile) }}
}

// Provision reads the file, which must be good now.
func (m *MembersFile) Provision(ctx caddy.Context) (err error) {
	logger := ctx.Logger()
	config := m.FileConfig
	m.Watchers, m.Holds = &membership.Watchers{}, &membership.Holds{}
	config.OnChange = m.Notify
	config.OnFault = func(fault error) {
		if fault == nil {
			logger.Info("members file is good again", zap.String("path", config.Path))
			return
		}
		logger.Warn("members file cannot be read; the last good members stay", zap.String("path", config.Path), zap.Error(fault))
	}
	m.File, err = membership.NewFile(config)
	return err
}

// Cleanup stops following the file, once no call runs any more that was let in
// by it.
func (m *MembersFile) Cleanup() error {
	if m.File != nil {
		m.CloseUnheld(m.File.Close)
	}
	return nil
}

// MembersHTTP asks a service of the operator:
//
//	GET <url>?issuer=…&subject=…&tenant=…
//	200 {"member":true,"roles":[],"scopes":[]}
//
// or POST <url> with {"issuer":"…","subject":"…","tenant":"…"} in the body.
// 404 or "member":false is no member; any other answer is none at all, and
// callers get 503.
type MembersHTTP struct {
	membership.HTTPConfig

	*membership.HTTP  `json:"-"`
	*membership.Holds `json:"-"`
}

// CaddyModule returns the Caddy module information.
func (MembersHTTP) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "mcp_app.membership.http", New: func() caddy.Module { return new(MembersHTTP) }}
}

// Provision checks the configuration; nobody is asked yet. Header values may be
// placeholders such as {env.MEMBERS_KEY}.
func (m *MembersHTTP) Provision(caddy.Context) (err error) {
	config := m.HTTPConfig
	config.Header = make(map[string][]string, len(m.HTTPConfig.Header))
	for name, values := range m.HTTPConfig.Header {
		for _, value := range values {
			value, err := caddy.NewReplacer().ReplaceOrErr(value, true, true)
			if err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
			config.Header[name] = append(config.Header[name], value)
		}
	}
	m.Holds = &membership.Holds{}
	m.HTTP, err = membership.NewHTTP(config)
	return err
}

// Cleanup lets connections go, once no call runs any more that was let in by
// the service.
func (m *MembersHTTP) Cleanup() error {
	if m.HTTP != nil {
		m.CloseUnheld(m.HTTP.Close)
	}
	return nil
}

// parseMembers reads:
//
//	members claims
//	members file <path>
//	members http <url> {
//		method  GET | POST
//		header  <name> <value>
//		timeout <duration>
//		ttl     <duration>
//		plain_http
//	}
func parseMembers(d *caddyfile.Dispenser) (source string, module any, err error) {
	args := d.RemainingArgs()
	switch {
	case len(args) == 1 && args[0] == "claims":
		return args[0], MembersClaims{}, nil
	case len(args) == 2 && args[0] == "file":
		return args[0], MembersFile{FileConfig: membership.FileConfig{Path: args[1]}}, nil
	case len(args) == 2 && args[0] == "http":
		m := MembersHTTP{HTTPConfig: membership.HTTPConfig{URL: args[1], Header: make(map[string][]string)}}
		err := block(d, map[string]subdirective{
			"header": func(d *caddyfile.Dispenser) error {
				var name, value string
				if !d.AllArgs(&name, &value) {
					return d.Err("expected: header <name> <value>")
				}
				m.HTTPConfig.Header[name] = append(m.HTTPConfig.Header[name], value)
				return nil
			},
			"method":     oneOf(&m.Method, http.MethodGet, http.MethodPost),
			"timeout":    plainDuration(func(v time.Duration) { m.Timeout = policy.Duration(v) }),
			"ttl":        plainDuration(func(v time.Duration) { m.TTL = policy.Duration(v) }),
			"plain_http": flag(&m.PlainHTTP),
		})
		return args[0], m, err
	default:
		return "", nil, d.Err("expected: members claims, members file <path>, or members http <url>")
	}
}

// admit looks up whether the caller is a member, and gives it the roles and
// takes the scopes that go with it. Where it returns false, the answer has been
// written.
func (m *Handler) admit(w http.ResponseWriter, r *http.Request, p *policy.Principal) bool {
	if m.members == nil {
		return true
	}
	member, err := m.members.Member(r.Context(), p.Issuer, p.Subject, p.Tenant)
	switch {
	case errors.Is(err, membership.ErrUnavailable):
		m.logger.Warn("membership cannot be looked up", zap.Error(err))
		m.deny(r, causeUnavailable, err.Error())
		w.Header().Set("Retry-After", "5")
		m.writeAuthError(w, r, http.StatusServiceUnavailable, "temporarily_unavailable", "access cannot be verified at the moment")
		return false
	case err != nil || !member.Member:
		reason := "not a member of the tenant"
		if err != nil {
			reason += ": " + err.Error()
		}
		m.deny(r, causeMembership, reason)
		m.forbid(w, r)
		return false
	}
	p.Roles = member.Roles
	m.rules.Narrow(p, member.Scopes)
	return true
}

// Interface guards
var (
	_ membership.Source  = (*MembersClaims)(nil)
	_ membership.Watcher = (*MembersFile)(nil)
	_ membership.Source  = (*MembersHTTP)(nil)
	_ membership.Holder  = (*MembersFile)(nil)
	_ membership.Holder  = (*MembersHTTP)(nil)
	_ caddy.Provisioner  = (*MembersFile)(nil)
	_ caddy.Provisioner  = (*MembersHTTP)(nil)
	_ caddy.CleanerUpper = (*MembersFile)(nil)
	_ caddy.CleanerUpper = (*MembersHTTP)(nil)
)
