package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/celrule"
)

// maxViewCost bounds what all conditions together may cost for one message, so
// that a long list does not multiply an expensive one.
const maxViewCost = 4 * celrule.MaxCost

// usedBy names the method that uses a name of each kind.
var usedBy = map[Kind]string{
	Tool:     "tools/call",
	Prompt:   "prompts/get",
	Resource: "resources/read",
	Template: "resources/read",
}

// lacksRoles returns why the caller has none of the wanted roles, and nothing if
// one will do or none is wanted.
func (v *View) lacksRoles(wanted []string) ground {
	if len(wanted) == 0 {
		return ground{}
	}
	roles, err := v.roles()
	switch {
	case slices.ContainsFunc(wanted, func(role string) bool { return slices.Contains(roles, role) }):
		return ground{}
	case err != nil:
		return ground{CauseRole, err.Error(), wanted}
	default:
		return ground{CauseRole, "none of the rule's roles", wanted}
	}
}

// roles is findRoles, asked once.
func (v *View) roles() ([]string, error) {
	v.rolesOnce.Do(func() { v.rolesSeen, v.rolesErr = v.findRoles() })
	return v.rolesSeen, v.rolesErr
}

// findRoles returns the roles by membership and by claim. A claim that cannot be
// read gives none, and takes none away; that it could not be read is an error
// beside them, so that conditions do not mistake it for having no roles.
func (v *View) findRoles() ([]string, error) {
	path := v.policy.rolesClaim
	if path == "" {
		return v.principal.Roles, nil
	}
	claim, ok := lookupClaim(v.principal.Claims, path)
	if !ok {
		return v.principal.Roles, nil
	}
	claimed, err := stringList(claim)
	if err != nil {
		return v.principal.Roles, fmt.Errorf("roles claim %q: %w", path, err)
	}
	return Union(v.principal.Roles, claimed), nil
}

// lacksAnnotations returns why a tool does not have the annotations that the
// policy and the rule want, and nothing if it has.
func (v *View) lacksAnnotations(kind Kind, name string, wanted map[string]bool) ground {
	if kind != Tool || len(wanted) == 0 && len(v.policy.annotations) == 0 {
		return ground{}
	}
	raw, err := v.annotationsOf(name)
	if err != nil {
		return ground{cause: CauseUnknown, reason: err.Error()}
	}
	h, err := parseHints(raw)
	if err != nil {
		return ground{cause: CauseUnknown, reason: err.Error()}
	}
	if g := h.unmet(v.policy.annotations); g.cause != "" {
		return g
	}
	return h.unmet(wanted)
}

func (v *View) annotationsOf(tool string) ([]byte, error) {
	if v.facts == nil {
		return nil, errors.New("annotations are unknown: nothing was asked of the server")
	}
	raw, err := v.facts.Annotations(tool)
	if err != nil {
		return nil, fmt.Errorf("annotations are unknown: %w", err)
	}
	return raw, nil
}

// meets evaluates a condition about a name, and says why it is not met, or
// nothing.
func (v *View) meets(condition *celrule.Expression, kind Kind, name string, arguments []byte) ground {
	reads := condition.Reads()
	if reads.Name || reads.Annotations || reads.Arguments || kind == Method {
		return v.evaluate(condition, kind, name, arguments)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	key := conditionKey{condition, kind}
	kept, ok := v.kept[key]
	if !ok {
		kept = v.evaluate(condition, kind, name, arguments)
		if v.kept == nil {
			v.kept = make(map[conditionKey]ground)
		}
		v.kept[key] = kept
	}
	return kept
}

func (v *View) evaluate(condition *celrule.Expression, kind Kind, name string, arguments []byte) ground {
	if v.cost.Load() > maxViewCost {
		return ground{CauseConditionError, "the conditions asked for this message cost too much together", []string{condition.String()}}
	}
	met, cost, err := condition.Eval(v.input(kind, name, arguments))
	v.cost.Add(cost)
	switch {
	case err != nil:
		return ground{CauseConditionError, err.Error(), []string{condition.String()}}
	case !met:
		return ground{CauseCondition, fmt.Sprintf("condition `%s` is not met", condition), []string{condition.String()}}
	}
	return ground{}
}

func (v *View) input(kind Kind, name string, arguments []byte) celrule.Input {
	p := v.principal
	in := celrule.Input{
		Issuer: p.Issuer, Subject: p.Subject, Tenant: p.Tenant, ClientID: p.ClientID,
		Scopes: v.policy.implies.expand(p.Scopes), Roles: v.roles, Claims: p.Claims,
		Method: usedBy[kind], Name: name,
		Arguments:   func() ([]byte, error) { return arguments, nil },
		Annotations: func() ([]byte, error) { return v.annotationsOf(name) },
	}
	if kind == Method {
		in.Method = name
	}
	if v.request != nil {
		in.ClientIP = v.request.ClientIP
		in.Headers = func() map[string]string { return v.policy.visibleHeaders(v.request.Header) }
	}
	return in
}
