package policy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// world is a random server, policy and set of callers.
type world struct {
	config     Config
	tools      map[string]string // to annotations
	links      map[string][]string
	names      map[Kind][]string
	principals []*Principal
	factsFail  bool
}

// Annotations and ToolsShowing implement Facts.
func (w *world) Annotations(tool string) ([]byte, error) {
	if w.factsFail {
		return nil, errors.New("no catalog")
	}
	return []byte(w.tools[tool]), nil
}

func (w *world) ToolsShowing(uri string) ([]string, error) {
	if w.factsFail {
		return nil, errors.New("no catalog")
	}
	return w.links[uri], nil
}

// conditions pairs CEL with what it means.
var conditions = []struct {
	text      string
	meaning   func(p *Principal, name string) bool
	arguments bool
}{
	{`principal.subject == "ann"`, func(p *Principal, _ string) bool { return p.Subject == "ann" }, false},
	{`claims.level > 3`, func(p *Principal, _ string) bool { l, ok := p.Claims["level"].(int64); return ok && l > 3 }, false},
	{`request.name.startsWith("a")`, func(_ *Principal, name string) bool { return strings.HasPrefix(name, "a") }, false},
	{`"own" in principal.roles`, func(p *Principal, _ string) bool { return slices.Contains(naiveRoles(p), "own") }, false},
	{`!(principal.tenant == "A")`, func(p *Principal, _ string) bool { return p.Tenant != "A" }, false},
	{`request.arguments.ok == true`, nil, true},
}

func pick[T any](r *rand.Rand, from []T, chance float64) []T {
	var some []T
	for _, x := range from {
		if r.Float64() < chance {
			some = append(some, x)
		}
	}
	return some
}

func text(r *rand.Rand, alphabet string, longest int) string {
	b := make([]byte, 1+r.IntN(longest))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func newWorld(r *rand.Rand) *world {
	w := &world{tools: make(map[string]string), links: make(map[string][]string), names: make(map[Kind][]string), factsFail: r.IntN(10) == 0}
	w.config.Mixed = r.IntN(3) == 0
	if !w.config.Mixed && r.IntN(4) == 0 {
		w.config.Default = Allow
	}
	if r.IntN(2) == 0 {
		w.config.Implies = map[string][]string{"adm": {"w"}, "w": {"r"}}
	}
	w.config.RolesClaim = "org.roles"
	if r.IntN(8) == 0 {
		w.config.Annotations = map[string]bool{ReadOnlyHint: true}
	}
	for _, kind := range []Kind{Tool, Prompt, Resource, Template, Method} {
		prefix := ""
		if kind == Resource || kind == Template {
			prefix = "ui:"
		}
		for range 1 + r.IntN(4) {
			name := prefix + text(r, "ab.", 4)
			w.names[kind] = append(w.names[kind], name)
			if kind == Tool {
				w.tools[name] = []string{``, `{}`, `{"readOnlyHint":true}`, `{"readOnlyHint":false,"destructiveHint":false}`, `{"readOnlyHint":"true"}`, `[]`}[r.IntN(6)]
			}
		}
		for range r.IntN(4) {
			w.config.Rules = append(w.config.Rules, newRule(r, kind, prefix, w.config.Mixed))
		}
	}
	for _, uri := range w.names[Resource] {
		w.links[uri] = pick(r, w.names[Tool], 0.4)
	}
	for _, tenant := range []string{"A", "B"} {
		p := &Principal{Issuer: "i", Subject: []string{"ann", "bob"}[r.IntN(2)], Tenant: tenant, Scopes: pick(r, []string{"r", "w", "adm"}, 0.4), Roles: pick(r, []string{"own"}, 0.3)}
		p.Claims = map[string]any{"level": int64(r.IntN(8)), "org": map[string]any{"roles": []any{"ed"}}}
		if r.IntN(3) == 0 {
			p.Claims["org"] = map[string]any{"roles": []any{"own", "ed"}}
		}
		w.principals = append(w.principals, p)
	}
	if w.config.Mixed {
		w.principals = append(w.principals, &Principal{Anonymous: true})
	}
	return w
}

func newRule(r *rand.Rand, kind Kind, prefix string, mixed bool) Rule {
	rule := Rule{Kind: kind, Pattern: prefix + text(r, "ab.**", 4)}
	if r.IntN(8) == 0 {
		rule.Deny = true
		return rule
	}
	if r.IntN(3) == 0 {
		rule.Tenants = pick(r, []string{"A", "B"}, 0.5)
	}
	if r.IntN(3) == 0 {
		rule.Scopes = pick(r, []string{"r", "w"}, 0.5)
	}
	if r.IntN(6) == 0 {
		rule.Roles = pick(r, []string{"own", "ed"}, 0.5)
	}
	if r.IntN(5) == 0 {
		if c := conditions[r.IntN(len(conditions))]; kind == Tool || !c.arguments {
			rule.When = []string{c.text}
		}
	}
	if kind == Tool && r.IntN(4) == 0 {
		rule.Annotations = map[string]bool{[]string{ReadOnlyHint, "destructiveHint"}[r.IntN(2)]: r.IntN(2) == 0}
	}
	if len(rule.Scopes) > 0 && r.IntN(2) == 0 {
		rule.OnMissingScope = Challenge
	}
	rule.Anonymous = mixed && !rule.asksCaller()
	return rule
}

func naiveRoles(p *Principal) []string {
	roles := slices.Clone(p.Roles)
	if org, ok := p.Claims["org"].(map[string]any); ok {
		for _, role := range org["roles"].([]any) {
			roles = append(roles, role.(string))
		}
	}
	return roles
}

// naiveMatch tries every way in which stars can stand for something.
func naiveMatch(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return naiveMatch(pattern[1:], name) || name != "" && naiveMatch(pattern, name[1:])
	default:
		return name != "" && pattern[0] == name[0] && naiveMatch(pattern[1:], name[1:])
	}
}

// naiveRule is the deciding rule in the words of the manual: an exact name over a
// pattern, a longer literal over a shorter one.
func (w *world) naiveRule(kind Kind, name string) *Rule {
	var best *Rule
	weight := func(r *Rule) int {
		if !strings.Contains(r.Pattern, "*") {
			return 1000
		}
		return len(strings.ReplaceAll(r.Pattern, "*", ""))
	}
	for i := range w.config.Rules {
		r := &w.config.Rules[i]
		if r.Kind == kind && naiveMatch(r.Pattern, name) && (best == nil || weight(r) > weight(best)) {
			best = r
		}
	}
	return best
}

func (w *world) naiveHints(tool string, wanted map[string]bool) bool {
	if len(wanted) == 0 {
		return true
	}
	raw := w.tools[tool]
	if w.factsFail || raw == "[]" {
		return false
	}
	readOnly := raw == `{"readOnlyHint":true}`
	destructive := !readOnly && raw != `{"readOnlyHint":false,"destructiveHint":false}`
	for name, want := range wanted {
		if name == ReadOnlyHint && readOnly != want || name == "destructiveHint" && destructive != want {
			return false
		}
	}
	return true
}

func (w *world) naiveGrants(p *Principal, scope string) bool {
	granting := map[string][]string{"r": {"r"}, "w": {"w"}, "adm": {"adm"}}
	if w.config.Implies != nil {
		granting = map[string][]string{"r": {"r", "w", "adm"}, "w": {"w", "adm"}, "adm": {"adm"}}
	}
	for _, g := range granting[scope] {
		if slices.Contains(p.Scopes, g) {
			return true
		}
	}
	return false
}

func (w *world) naiveVerdict(p *Principal, kind Kind, name string) Verdict {
	rule := w.naiveRule(kind, name)
	if rule == nil && kind == Resource {
		if w.factsFail {
			return Hidden
		}
		if tools := w.links[name]; len(tools) > 0 {
			for _, tool := range tools {
				if w.naiveVerdict(p, Tool, tool) != Hidden {
					return Allowed
				}
			}
			return Hidden
		}
	}
	if kind == Tool && (rule != nil || w.config.Default == Allow) && !w.naiveHints(name, w.config.Annotations) {
		return Hidden
	}
	switch {
	case rule == nil && (kind == Method || w.config.Default == Allow):
		return Allowed
	case rule == nil, rule.Deny,
		p.Anonymous && (len(rule.Tenants) > 0 || len(rule.Roles) > 0 || len(rule.When) > 0),
		len(rule.Tenants) > 0 && !slices.Contains(rule.Tenants, p.Tenant),
		len(rule.Roles) > 0 && !slices.ContainsFunc(rule.Roles, func(r string) bool { return slices.Contains(naiveRoles(p), r) }),
		!w.naiveHints(name, rule.Annotations):
		return Hidden
	}
	for _, when := range rule.When {
		for _, c := range conditions {
			if c.text == when && !c.arguments && !c.meaning(p, name) {
				return Hidden
			}
		}
	}
	for _, scope := range rule.Scopes {
		switch {
		case w.naiveGrants(p, scope):
		case p.Anonymous:
			return Login
		case rule.OnMissingScope == Challenge:
			return StepUp
		default:
			return Hidden
		}
	}
	return Allowed
}

// TestEveryWorldIsConsistent builds random servers, policies and callers and
// holds every answer against a naive reading of the rules.
func TestEveryWorldIsConsistent(t *testing.T) {
	worlds := 100_000
	if testing.Short() {
		worlds = 20_000
	}
	const shards = 4
	for shard := range shards {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			checkWorlds(t, rand.New(rand.NewPCG(5, uint64(shard))), worlds/shards)
		})
	}
}

func checkWorlds(t *testing.T, r *rand.Rand, worlds int) {
	seen := make(map[Verdict]int)
	for built := 0; built < worlds; {
		w := newWorld(r)
		pol, err := Compile(w.config)
		if err != nil {
			if !strings.Contains(err.Error(), "equally specific") {
				t.Fatalf("%v\n%+v", err, w.config)
			}
			continue
		}
		built++
		for _, p := range w.principals {
			if problem := w.examine(pol, p, seen); problem != "" {
				t.Fatalf("world %d: %s\n%+v\n%+v\n%v %v", built, problem, *p, w.config, w.tools, w.links)
			}
		}
	}
	for _, v := range []Verdict{Hidden, StepUp, Allowed, Login, Refused} {
		if seen[v] < worlds/100 {
			t.Errorf("only %d answers %q: the worlds are too plain to prove much", seen[v], v)
		}
	}
}

// examine asks for every name of the world and returns what is wrong.
func (w *world) examine(pol *Policy, p *Principal, seen map[Verdict]int) string {
	view := pol.View(p).With(nil, w)
	narrowed := *p
	pol.Narrow(&narrowed, []string{"r"})
	narrow := pol.View(&narrowed).With(nil, w)
	// Somebody else with the same tenant, scopes and roles.
	twin := *p
	twin.Subject, twin.Scopes = "twin", slices.Clone(p.Scopes)
	slices.Reverse(twin.Scopes)
	twinView := pol.View(&twin).With(nil, w)
	key, keyed := view.Key()
	if twinKey, ok := twinView.Key(); key != twinKey || keyed != ok {
		return "equal callers with different keys"
	}
	if _, ok := narrow.Key(); ok {
		return "a key although the membership withholds scopes"
	}
	for kind, names := range w.names {
		for _, name := range names {
			d := view.Decide(kind, name)
			seen[d.Verdict]++
			if problem := w.problem(view, narrow, p, kind, name, d); problem != "" {
				return fmt.Sprintf("%s %q: %v (%s, %s) %s", kind, name, d.Verdict, d.Rule, d.Reason, problem)
			}
			if kind != Tool {
				continue
			}
			if twins := twinView.Decide(kind, name); keyed && twins.Verdict != d.Verdict {
				return fmt.Sprintf("tool %q: %v, and %v for a caller with the same key", name, d.Verdict, twins.Verdict)
			}
			for _, arguments := range []string{`{"ok":true}`, `{"ok":false}`} {
				called := view.DecideCall(name, []byte(arguments))
				seen[called.Verdict]++
				want := d.Verdict
				if rule := w.naiveRule(Tool, name); want == Allowed && arguments != `{"ok":true}` && rule != nil && slices.Contains(rule.When, `request.arguments.ok == true`) {
					want = Refused
				}
				if called.Verdict != want || called.Verdict == Refused && called.Message == "" {
					return fmt.Sprintf("tool %q called with %s: %+v, want %v", name, arguments, called, want)
				}
			}
		}
	}
	return ""
}

func (w *world) problem(view, narrow *View, p *Principal, kind Kind, name string, d Decision) string {
	rule := w.naiveRule(kind, name)
	want := w.naiveVerdict(p, kind, name)
	switch {
	case d.Verdict != want:
		return "where a naive reader says " + want.String()
	case view.Shows(kind, name) != (d.Verdict != Hidden):
		return "and Shows says otherwise"
	case rule != nil && d.Rule != rule.Pattern:
		return "but the most specific rule is " + rule.Pattern
	case rule != nil && d.Verdict != Hidden && len(rule.Tenants) > 0 && !slices.Contains(rule.Tenants, p.Tenant):
		return "though the rule is for other tenants"
	case rule != nil && d.Verdict != Hidden && p.Anonymous && rule.needsLogin():
		return "to a caller nobody knows"
	case d.Verdict == Hidden && d.Reason == "":
		return "without a reason"
	case d.Verdict != Allowed && narrow.Decide(kind, name).Verdict == Allowed:
		return "and a membership that takes scopes away allows it"
	}
	return ""
}
