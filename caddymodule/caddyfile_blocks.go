package caddymodule

import (
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
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
//	}
func (m *Handler) parseAuth(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Auth != nil); err != nil {
		return err
	}
	m.Auth = &Auth{}
	return block(d, map[string]subdirective{
		"mode":       m.Auth.parseMode,
		"issuer":     m.Auth.parseIssuer,
		"introspect": m.Auth.parseIntrospect,
		"audience":   words(&m.Auth.Audiences),
		"scopes":     words(&m.Auth.Scopes),
		"leeway":     duration(&m.Auth.Leeway),
		"max_token_age": func(d *caddyfile.Dispenser) error {
			var age *caddy.Duration
			err := duration(&age)(d)
			if err == nil {
				m.Auth.MaxTokenAge = *age
			}
			return err
		},
		"metadata_redirect": flag(&m.Auth.MetadataRedirect),
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

// parsePolicy reads:
//
//	policy {
//		default deny | allow
//		results filter | pass
//		roles_claim <path>
//		implies <scope> <scope>...
//		annotation <hint> on | off
//		readonly
//		validate_arguments [{ ... }]
//		tool | prompt | resource | template | method <pattern> {
//			deny
//			anonymous
//			tenants <tenant>...
//			roles   <role>...
//			annotation <hint> on | off
//			readonly
//			when    <CEL expression>
//			scopes  <scope>...
//			on_missing_scope hide | challenge
//			max_bytes <size>
//			max_depth <number>
//		}
//	}
func (m *Handler) parsePolicy(d *caddyfile.Dispenser) error {
	if err := opens(d, m.Policy != nil); err != nil {
		return err
	}
	m.Policy = &policy.Config{}
	known := map[string]subdirective{
		"default":            oneOf(&m.Policy.Default, policy.Deny, policy.Allow),
		"results":            oneOf(&m.Policy.Results, policy.Filter, policy.Pass),
		"roles_claim":        scalar(&m.Policy.RolesClaim),
		"implies":            m.parseImplies,
		"annotation":         annotation(&m.Policy.Annotations),
		"readonly":           readonly(&m.Policy.Annotations),
		"validate_arguments": m.parseValidateArguments,
	}
	for _, kind := range []policy.Kind{policy.Tool, policy.Prompt, policy.Resource, policy.Template, policy.Method} {
		known[string(kind)] = m.parseRule
	}
	return block(d, known)
}

func (m *Handler) parseRule(d *caddyfile.Dispenser) error {
	rule := policy.Rule{Kind: policy.Kind(d.Val())}
	if !d.Args(&rule.Pattern) || d.NextArg() {
		return d.Errf("%s takes exactly one name or pattern; conditions go into a block", rule.Kind)
	}
	var bounds arguments.Bounds
	var maxBytes int64
	err := block(d, map[string]subdirective{
		"deny":             flag(&rule.Deny),
		"anonymous":        flag(&rule.Anonymous),
		"tenants":          words(&rule.Tenants),
		"roles":            words(&rule.Roles),
		"annotation":       annotation(&rule.Annotations),
		"when":             condition(&rule.When),
		"readonly":         readonly(&rule.Annotations),
		"scopes":           words(&rule.Scopes),
		"on_missing_scope": oneOf(&rule.OnMissingScope, policy.Hide, policy.Challenge),
		"max_bytes":        size(&maxBytes),
		"max_depth":        number(&bounds.MaxDepth),
	})
	bounds.MaxBytes = int(maxBytes)
	if bounds != (arguments.Bounds{}) {
		rule.Arguments = &bounds
	}
	if err != nil {
		return err
	}
	m.Policy.Rules = append(m.Policy.Rules, rule)
	// Checked here and not only at load, where the line would be lost.
	if _, err := policy.Compile(*m.Policy); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func (m *Handler) parseImplies(d *caddyfile.Dispenser) error {
	args := d.RemainingArgs()
	if len(args) < 2 {
		return d.Err("expected: implies <scope> <scope that comes with it>...")
	}
	if m.Policy.Implies == nil {
		m.Policy.Implies = make(map[string][]string)
	}
	m.Policy.Implies[args[0]] = append(m.Policy.Implies[args[0]], args[1:]...)
	if _, err := policy.Compile(*m.Policy); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

// condition reads one CEL expression, in quotes or backticks; repeated lines must
// all hold.
func condition(into *[]string) subdirective {
	return func(d *caddyfile.Dispenser) error {
		var expression string
		if !d.AllArgs(&expression) {
			return d.Err("when takes exactly one expression; put it into backticks: when `\"admin\" in principal.roles`")
		}
		*into = append(*into, expression)
		return nil
	}
}

// readonly is short for annotation readOnlyHint on.
func readonly(into *map[string]bool) subdirective {
	return func(d *caddyfile.Dispenser) error {
		if d.NextArg() {
			return d.Errf("readonly stands alone, without %q", d.Val())
		}
		if *into == nil {
			*into = make(map[string]bool)
		}
		(*into)["readOnlyHint"] = true
		return nil
	}
}

// annotation reads the name of a hint and what it must be.
func annotation(into *map[string]bool) subdirective {
	return func(d *caddyfile.Dispenser) error {
		var hint string
		if !d.Args(&hint) {
			return d.Err("expected: annotation <hint> on, or annotation <hint> off")
		}
		return onOff(func(on bool) {
			if *into == nil {
				*into = make(map[string]bool)
			}
			(*into)[hint] = on
		})(d)
	}
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
