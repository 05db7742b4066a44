package caddymodule

import (
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// parseAuth reads:
//
//	auth {
//		mode strict | mixed | none [public]
//		issuer <url> {
//			jwks_url   <url>
//			algorithms <alg>...
//			token_type at+jwt | jwt | any
//		}
//		introspect <url> { ... }
//		audience <value>...
//		scopes   <scope>...
//		leeway        <duration>
//		max_token_age <duration>
//		metadata_redirect
//		metadata_proxy
//	}
func (m *Handler) parseAuth(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Auth != nil); err != nil {
		return err
	}
	m.Auth = &Auth{}
	return block(d, map[string]subdirective{
		"mode":              m.Auth.parseMode,
		"issuer":            m.Auth.parseIssuer,
		"introspect":        m.Auth.parseIntrospect,
		"audience":          words(&m.Auth.Audiences),
		"scopes":            words(&m.Auth.Scopes),
		"leeway":            duration(&m.Auth.Leeway),
		"max_token_age":     plainDuration(func(v time.Duration) { m.Auth.MaxTokenAge = caddy.Duration(v) }),
		"metadata_redirect": flag(&m.Auth.MetadataRedirect),
		"metadata_proxy":    flag(&m.Auth.MetadataProxy),
	})
}

func (a *Auth) parseMode(d *caddyfile.Dispenser) error {
	args := d.RemainingArgs()
	switch {
	case a.Mode != "":
		return d.Errf("mode already specified: %s", a.Mode)
	case len(args) == 1 && (args[0] == modeStrict || args[0] == modeMixed || args[0] == modeNone):
		a.Mode = args[0]
	case len(args) == 2 && args[0] == modeNone && args[1] == "public":
		a.Mode, a.Public = modeNone, true
	default:
		return d.Err("expected: mode strict, mode mixed, mode none, or mode none public")
	}
	return nil
}

func (a *Auth) parseIssuer(d *caddyfile.Dispenser) error {
	issuer := &Issuer{}
	if !d.Args(&issuer.Issuer) || d.NextArg() {
		return d.Err("issuer takes exactly one URL; its details go into a block")
	}
	a.Issuers = append(a.Issuers, issuer)
	return block(d, map[string]subdirective{
		"jwks_url": scalar(&issuer.JWKSURL),
		"algorithms": func(d *caddyfile.Dispenser) error {
			if err := words(&issuer.Algorithms)(d); err != nil {
				return err
			}
			for _, name := range issuer.Algorithms {
				if _, err := token.ParseAlgorithm(name); err != nil {
					return d.WrapErr(err)
				}
			}
			return nil
		},
		"token_type": oneOf(&issuer.TokenType, "at+jwt", "jwt", "any"),
	})
}

// parseTenant reads:
//
//	tenant {
//		claim   <path>
//		require <literal or placeholder>
//		allow   <tenant>...
//		members claims | file <path> | http <url> { ... }
//		argument <tool argument>
//		header   <request header>
//	}
func (m *Handler) parseTenant(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Tenant != nil); err != nil {
		return err
	}
	m.Tenant = &Tenant{}
	return block(d, map[string]subdirective{
		"claim":   scalar(&m.Tenant.Claim),
		"require": scalar(&m.Tenant.Require),
		"allow":   words(&m.Tenant.Allow),
		"members": func(d *caddyfile.Dispenser) error {
			if m.Tenant.MembersRaw != nil {
				return d.Err("members already specified")
			}
			source, module, err := parseMembers(d)
			if err == nil {
				m.Tenant.MembersRaw = caddyconfig.JSONModuleObject(module, "source", source, nil)
			}
			return err
		},
		"argument": scalar(&m.Tenant.Argument),
		"header":   scalar(&m.Tenant.Header),
	})
}

// parseLinks reads:
//
//	links {
//		plugin      <id> [<marketplace>]
//		navigate    <tool>
//		tenant_path <pattern>
//		open        <path>
//		fallback    <url>
//		results     check | drop | pass
//	}
func (m *Handler) parseLinks(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Links != nil); err != nil {
		return err
	}
	m.Links = &Links{}
	return block(d, map[string]subdirective{
		"plugin":      m.Links.parsePlugin,
		"navigate":    scalar(&m.Links.Navigate),
		"tenant_path": scalar(&m.Links.TenantPath),
		"open":        scalar(&m.Links.Open),
		"fallback":    scalar(&m.Links.Fallback),
		"results":     oneOf(&m.Links.Results, linksCheck, linksDrop, linksPass),
	})
}

func (l *Links) parsePlugin(d *caddyfile.Dispenser) error {
	args := d.RemainingArgs()
	switch {
	case l.Plugin != "":
		return d.Errf("plugin already specified: %s", l.Plugin)
	case len(args) != 1 && len(args) != 2:
		return d.Err("expected: plugin <id>, or plugin <id> <marketplace>")
	}
	l.Plugin = args[0]
	if len(args) == 2 {
		l.Marketplace = args[1]
	}
	return nil
}

// parseIdentity reads:
//
//	identity {
//		headers <prefix>
//		forward_token
//		assertion [<audience>]
//		exchange <url> { ... }
//	}
func (m *Handler) parseIdentity(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Identity != nil); err != nil {
		return err
	}
	m.Identity = &Identity{}
	return block(d, map[string]subdirective{
		"headers":       scalar(&m.Identity.Headers),
		"forward_token": flag(&m.Identity.ForwardToken),
		"assertion":     parseAssertion(&m.Identity.Assertion),
		"exchange":      m.Identity.parseExchange,
	})
}

// parseLimits reads:
//
//	limits {
//		request_body <size>
//		message      <size>
//		event        <size>
//		tools        <number>
//		depth        <number>
//		list_ttl     <duration>
//	}
func (m *Handler) parseLimits(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Limits != nil); err != nil {
		return err
	}
	m.Limits = &Limits{}
	return block(d, map[string]subdirective{
		"request_body": size(&m.Limits.RequestBody),
		"message":      size(&m.Limits.Message),
		"event":        size(&m.Limits.Event),
		"tools":        number(&m.Limits.Tools),
		"depth":        number(&m.Limits.Depth),
		"list_ttl":     duration(&m.Limits.ListTTL),
	})
}

// opens checks the head of a block that may appear once.
func opens(d *caddyfile.Dispenser, again bool) error {
	if again {
		return d.Errf("%s already specified", d.Val())
	}
	return nil
}

func duration(into **caddy.Duration) subdirective {
	return func(d *caddyfile.Dispenser) error {
		var text string
		if err := scalar(&text)(d); err != nil {
			return err
		}
		value, err := caddy.ParseDuration(text)
		if err != nil || value < 0 {
			return d.Errf("expected a duration such as 30s, got %q", text)
		}
		*into = (*caddy.Duration)(&value)
		return nil
	}
}

// plainDuration reads a duration.
func plainDuration(set func(time.Duration)) subdirective {
	return func(d *caddyfile.Dispenser) error {
		var value *caddy.Duration
		if err := duration(&value)(d); err != nil {
			return err
		}
		set(time.Duration(*value))
		return nil
	}
}

func size(into *int64) subdirective {
	return func(d *caddyfile.Dispenser) error {
		var text string
		if err := scalar(&text)(d); err != nil {
			return err
		}
		value, err := humanize.ParseBytes(text)
		if err != nil || value == 0 || value > 1<<40 {
			return d.Errf("expected a size such as 4MiB, got %q", text)
		}
		*into = int64(value)
		return nil
	}
}

func number(into *int) subdirective {
	return func(d *caddyfile.Dispenser) error {
		var text string
		if err := scalar(&text)(d); err != nil {
			return err
		}
		value, err := strconv.Atoi(text)
		if err != nil || value < 1 {
			return d.Errf("expected a positive number, got %q", text)
		}
		*into = value
		return nil
	}
}
