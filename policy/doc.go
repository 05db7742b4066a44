// Package policy decides who may do what on an MCP endpoint: it turns verified
// token claims into a [Principal] of exactly one tenant, and reviewable rules
// into a [View] of what that principal may see.
//
// Every place that shows or uses a name (lists, calls, reads, capabilities)
// asks the same View, so that no two of them can disagree. The package knows
// neither HTTP bodies nor Caddy. Its parts that stand alone are packages of
// their own: conditions in celrule, members in membership, tool arguments in
// arguments, rate limits in ratelimit, tokens in token.
//
// # Model
//
// A [Config] is compiled once into a [Policy]. A verified token and the route make
// a [Principal]; Policy and Principal make a [View]; the View answers each question
// with a [Decision]: allow, hide, challenge or refuse, with the rule and the reason
// for the operator. Of several rules that fit a name the most specific decides
// alone, so that a rule can be read without reading the others.
//
// # Guarantees
//
// A name that no rule fits does not exist. Two rules of equal weight for one name
// are an error when compiled, never a matter of order. A condition that cannot be
// evaluated is not fulfilled, and facts that cannot be had refuse. Policies and
// Views are immutable and safe for concurrent use.
//
// # Trade-offs
//
// A View is cheap and made for each message, instead of cached: what a token, a
// members file or a rule says now is what counts. Conditions are CEL with bounded
// cost, which is less than a programming language, so that loading a configuration
// can check them.
package policy
