package policy

import (
	"errors"
	"fmt"
	"slices"
)

// Check finds what is wrong with a rule by itself, for an error that still
// knows the line.
func (r Rule) Check() error {
	switch {
	case !slices.Contains([]Kind{Tool, Prompt, Resource, Template, Method}, r.Kind):
		return fmt.Errorf("unknown kind %q: write tool, prompt, resource, template or method", r.Kind)
	case r.OnMissingScope != "" && r.OnMissingScope != Hide && r.OnMissingScope != Challenge:
		return fmt.Errorf("on_missing_scope %q: write hide or challenge", r.OnMissingScope)
	case r.Deny && (r.Anonymous || r.OnMissingScope != "" || r.asksCaller() || len(r.Annotations) > 0 || r.Arguments != nil):
		return errors.New("deny stands alone; remove the other lines or remove deny")
	case r.Anonymous && r.asksCaller():
		return errors.New("anonymous opens the names to everybody; remove tenants, roles, when and scopes, or remove anonymous")
	case r.OnMissingScope == Challenge && len(r.Scopes) == 0:
		return errors.New("on_missing_scope challenge needs a scopes line to challenge for")
	case r.Kind != Tool && len(r.Annotations) > 0:
		return errors.New("annotations are conditions for tools; remove them here")
	case r.Kind != Tool && r.Arguments != nil:
		return errors.New("arguments are bounded for tools; remove the bounds here")
	}
	if err := checkHints(r.Annotations); err != nil {
		return err
	}
	for _, scope := range r.Scopes {
		if err := validScope(scope); err != nil {
			return err
		}
	}
	for _, tenant := range r.Tenants {
		if err := validTenant(tenant); err != nil {
			return fmt.Errorf("tenants: %w", err)
		}
	}
	if slices.Contains(r.Roles, "") {
		return errors.New("roles: a role has an empty name")
	}
	if r.Arguments != nil {
		return r.Arguments.Check()
	}
	return nil
}

// asksCaller reports whether the rule has conditions on who calls.
func (r Rule) asksCaller() bool { return r.needsLogin() || len(r.Scopes) > 0 }

// needsLogin reports whether the rule has conditions that say nothing about a
// caller who is not known.
func (r Rule) needsLogin() bool { return len(r.Tenants) > 0 || len(r.Roles) > 0 || len(r.When) > 0 }

func (c Config) check() error {
	switch {
	case c.Default != "" && c.Default != Deny && c.Default != Allow:
		return fmt.Errorf("policy default %q: write deny or allow", c.Default)
	case c.Results != "" && c.Results != Filter && c.Results != Pass:
		return fmt.Errorf("policy results %q: write filter or pass", c.Results)
	case c.Mixed && c.Default == Allow:
		return errors.New("policy default allow in mixed mode opens to everybody whatever the server adds; write default deny and tool * { anonymous } if you mean that")
	}
	return checkHints(c.Annotations)
}
