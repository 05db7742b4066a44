package caddymodule

import (
	"fmt"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
)

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
	rule, source := policy.Rule{Kind: policy.Kind(d.Val())}, fmt.Sprintf("%s:%d", d.File(), d.Line())
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
	m.sources = append(m.sources, source)
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
