package policy

import "github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"

// Kind is what a rule is about.
type Kind string

// The kinds of names an MCP server shows, and the methods that it answers.
const (
	Tool     Kind = "tool"
	Prompt   Kind = "prompt"
	Resource Kind = "resource"
	Template Kind = "template"
	Method   Kind = "method"
)

// Rule allows the names that fit a pattern to those who meet all conditions. Of
// several rules that fit a name only the most specific counts. Conditions are
// asked in the order tenants, roles, annotations, when, scopes; who fails one
// before scopes is told nothing.
type Rule struct {
	// Kind is "tool", "prompt", "resource", "template" or "method". A method
	// that no rule fits is open: methods are for what must be harder to use than
	// the names behind it, such as tools/call.
	Kind Kind `json:"kind"`
	// Pattern is a name or URI; * stands for any run of characters.
	Pattern string `json:"pattern"`
	// Deny hides the names from everybody. It stands alone.
	Deny bool `json:"deny,omitempty"`
	// Anonymous says that callers without a token may use the names, in mixed
	// mode. A pattern with * and without conditions needs it; with an exact name
	// the rule is as clear without. It stands without conditions on the caller.
	Anonymous bool `json:"anonymous,omitempty"`
	// Tenants that may. Default: every tenant the endpoint serves.
	Tenants []string `json:"tenants,omitempty"`
	// Roles of which the caller must have at least one, by claim (see
	// roles_claim) or by membership.
	Roles []string `json:"roles,omitempty"`
	// Annotations that the server must give a tool for the rule to allow it, by
	// name: readOnlyHint, destructiveHint, idempotentHint, openWorldHint. A hint
	// that the server does not give has the default of MCP, which is the
	// cautious one. If the server's tools cannot be asked for, nobody may.
	Annotations map[string]bool `json:"annotations,omitempty"`
	// When holds conditions in CEL over principal, claims and request, all of
	// which must be true. One that cannot be evaluated is not. One that reads
	// request.arguments does not hide the tool: a call with other arguments is
	// answered with an error that the model can read.
	When []string `json:"when,omitempty"`
	// Scopes the token must carry, all of them. Default: none beyond those that
	// the whole endpoint needs.
	Scopes []string `json:"scopes,omitempty"`
	// OnMissingScope is "hide" (the default: the name looks unknown) or
	// "challenge" (it is listed, and its use is answered with 403 and the scopes
	// to ask for). In mixed mode a caller without a token is always told to log
	// in where only scopes are missing.
	OnMissingScope string `json:"on_missing_scope,omitempty"`
	// Arguments bounds the arguments of a tool call, with or without a schema.
	Arguments *arguments.Bounds `json:"arguments,omitempty"`
}

// The words of Config.Default, Rule.OnMissingScope and Config.Results.
const (
	Deny      = "deny"
	Allow     = "allow"
	Hide      = "hide"
	Challenge = "challenge"
	Filter    = "filter"
	Pass      = "pass"
)

// Config says which names of the server may be seen and used, by whom.
type Config struct {
	// Default is for names that no rule fits: "deny" (the default) or "allow".
	Default string `json:"default,omitempty"`
	// Rules, of which the most specific one that fits a name decides alone.
	Rules []Rule `json:"rules,omitempty"`
	// Annotations that every tool must have, whatever rule fits it. With
	// {"readOnlyHint": true} nothing is shown that the server does not declare
	// as read-only.
	Annotations map[string]bool `json:"annotations,omitempty"`
	// RolesClaim is the claim that holds the caller's roles: a string or an
	// array of strings, with dots between names for claims inside claims.
	// Default: none, so that only membership gives roles.
	RolesClaim string `json:"roles_claim,omitempty"`
	// Implies maps a scope to scopes that come with it, wherever scopes are
	// asked for. {"cad.write": ["cad.read"]} saves naming both.
	Implies map[string][]string `json:"implies,omitempty"`
	// Results is what happens to links in results of tools and prompts that lead
	// to resources the caller may not read, and to such resources embedded
	// there: "filter" (the default: they are left out) or "pass".
	Results string `json:"results,omitempty"`
	// ValidateArguments checks tool calls against the schema that the server
	// advertises to the caller, before the server sees them. Default: off.
	ValidateArguments *arguments.Config `json:"validate_arguments,omitempty"`

	// Mixed says that callers without a token are let in. It follows from the
	// endpoint's auth mode.
	Mixed bool `json:"-"`
	// HiddenHeaders are request headers that conditions may not see, beside
	// credentials and X-Mcp-App-*. A name that ends in a hyphen stands for all
	// that begin so. They follow from the endpoint's identity headers.
	HiddenHeaders []string `json:"-"`
}
