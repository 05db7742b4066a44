package caddymodule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/lru"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/arguments"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/membership"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/ratelimit"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

// effectiveLimits are the limits with their defaults filled in.
type effectiveLimits struct {
	requestBody, message, event int64
	tools, depth                int
	listTTL                     time.Duration
}

// How long a catalog may be kept as a fact, and how long asking for it may
// delay an answer.
const (
	catalogTTL      = 5 * time.Minute
	catalogTimeout  = 5 * time.Second
	catalogCapacity = 1024
)

// maxSchemas bounds how many callers' settings schemas are remembered.
// Forgetting one only means that the update tool's own declaration is used.
const maxSchemas = 4096

// Provision compiles the configuration. It does no network I/O: an outage of
// the issuer must keep neither Caddy from starting nor a config from validating.
func (m *Handler) Provision(ctx caddy.Context) error {
	m.logger = ctx.Logger()
	config, err := untilStop(ctx)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	m.config = config
	if m.events, err = openEvents(ctx); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	if err := m.provisionAudit(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	m.hints = &hints{}
	m.drain = &drain{}
	m.health = newHealth()
	m.schemas = lru.New[mcp.Holder, *openai.SettingsSchema](maxSchemas, 0)
	m.advertised = newAdvertised()
	m.argumentChecker = &arguments.Checker{}
	m.warned = &onceSet{seen: make(map[string]bool)}
	m.catalogs = flight.New[*mcp.Catalog](catalogCapacity, catalogTTL, catalogTimeout)
	m.catalogs.Observe(countQuestion)
	m.lists = new(listMemo)
	m.tools = new(toolMemo)
	m.inventories = flight.New[*inventory](inventoryCapacity, catalogTTL, inventoryTimeout)
	if err := registerMetrics(ctx); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	m.fillDefaults()
	if err := m.check(); err != nil {
		return err
	}
	rules := *m.Policy
	rules.Mixed = m.Auth.Mode == modeMixed
	rules.HiddenHeaders = []string{m.identity.prefix}
	if m.rules, err = policy.Compile(rules); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	if m.Tenant != nil && m.Tenant.MembersRaw != nil {
		module, err := ctx.LoadModule(m.Tenant, "MembersRaw")
		if err != nil {
			return fmt.Errorf("tenant: members: %w", err)
		}
		source, ok := module.(membership.Source)
		if !ok {
			return fmt.Errorf("tenant: members: module %T is no membership source", module)
		}
		m.members = source
		if held, ok := source.(membership.Holder); ok {
			m.release = append(m.release, held.Hold())
		}
	}
	if err := m.provisionShared(ctx); err != nil {
		return err
	}
	if m.Policy.ValidateArguments != nil {
		if err := m.Policy.ValidateArguments.Check(); err != nil {
			return fmt.Errorf("validate_arguments: %w", err)
		}
	}
	for _, text := range m.Methods {
		pattern, err := policy.ParsePattern(text)
		if err != nil {
			return fmt.Errorf("methods: %w", err)
		}
		m.methods = append(m.methods, pattern)
	}
	if err := m.provisionSealKeys(ctx); err != nil {
		return fmt.Errorf("seal_keys: %w", err)
	}
	if m.overlay, err = openai.Compile(m.OpenAI.Declarations); err != nil {
		return fmt.Errorf("openai: %w", err)
	}
	if err := m.provisionPages(); err != nil {
		return fmt.Errorf("openai: %w", err)
	}
	if err := m.provisionLinks(); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	if m.authenticates() {
		if err := m.provisionAuth(); err != nil {
			return fmt.Errorf("auth: %w", err)
		}
	}
	m.claimRoot(ctx.GetMetricsRegistry())
	if err := m.findDocuments(); err != nil {
		return fmt.Errorf("resource: %w", err)
	}
	if len(m.Upstreams) > 0 {
		if m.proxy, err = m.buildProxy(ctx); err != nil {
			return err
		}
	}
	m.enlist(ctx.GetMetricsRegistry())
	return nil
}

// provisionShared opens what this endpoint shares with others: state, limits,
// assertion keys.
func (m *Handler) provisionShared(ctx caddy.Context) (err error) {
	m.state, err = openState(ctx, m.StateRaw)
	m.release = append(m.release, m.state.close)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err = m.provisionRegistrations(); err != nil {
		return fmt.Errorf("registrations: %w", err)
	}
	if m.Identity != nil {
		m.assertions, err = openAssertions(ctx, m.Identity.Assertion)
		m.release = append(m.release, m.assertions.close)
		if err != nil {
			return fmt.Errorf("identity: assertion: %w", err)
		}
	}
	if m.Identity != nil && m.Identity.Exchange != nil {
		if m.exchanger, err = m.Identity.Exchange.build(); err != nil {
			return fmt.Errorf("identity: exchange: %w", err)
		}
		m.release = append(m.release, m.exchanger.Close)
	}
	if m.RateLimit != nil {
		if m.limiter, err = ratelimit.New(*m.RateLimit, m.state.counter()); err != nil {
			return fmt.Errorf("rate_limit: %w", err)
		}
	}
	return nil
}

// Cleanup gives back what Provision took, once the last exchange is done. It is
// called after a failed Provision as well.
func (m *Handler) Cleanup() error {
	if m.drain == nil { // Provision failed at once
		return nil
	}
	releases := m.release
	m.release = nil
	m.drain.end(func() {
		for _, release := range releases {
			release()
		}
	})
	return nil
}

// fillDefaults makes every block present, so that nothing later has to ask.
func (m *Handler) fillDefaults() {
	m.Auth = cmp.Or(m.Auth, &Auth{})
	m.Auth.Mode = cmp.Or(m.Auth.Mode, modeStrict)
	m.Policy = cmp.Or(m.Policy, &policy.Config{})
	m.OpenAI = cmp.Or(m.OpenAI, &OpenAI{})
	m.Links = cmp.Or(m.Links, &Links{})
	m.OpenAI.Plugin = cmp.Or(m.OpenAI.Plugin, m.Links.Plugin)
	if m.Tenant != nil {
		m.tenancy = policy.Tenancy{Claim: m.Tenant.Claim, Allow: m.Tenant.Allow}
	}
	prefix := defaultIdentityPrefix
	if m.Identity != nil {
		prefix = cmp.Or(m.Identity.Headers, prefix)
	}
	m.identity = newIdentityHeaders(prefix)
	limits := *cmp.Or(m.Limits, &Limits{})
	m.limits = effectiveLimits{
		requestBody: cmp.Or(limits.RequestBody, 4<<20),
		message:     cmp.Or(limits.Message, 16<<20),
		event:       cmp.Or(limits.Event, 4<<20),
		tools:       cmp.Or(limits.Tools, mcp.DefaultMaxTools),
		depth:       cmp.Or(limits.Depth, mcp.DefaultDepth),
		listTTL:     time.Minute,
	}
	m.reader = mcp.Reader{MaxDepth: m.limits.depth, Known: m.known}
	if limits.ListTTL != nil {
		m.limits.listTTL = time.Duration(*limits.ListTTL)
	}
}

// check refuses what would be insecure or useless, each with what to write
// instead.
func (m *Handler) check() error {
	var problems []error
	problem := func(bad bool, text string) {
		if bad {
			problems = append(problems, errors.New(text))
		}
	}
	problem(!strings.HasPrefix(m.Path, "/"), "path: must begin with a slash, such as /mcp")
	problem(!slices.Contains([]string{modeStrict, modeMixed, modeNone}, m.Auth.Mode), "auth: mode must be strict, mixed or none")
	problem(m.authenticates() && len(m.Auth.Issuers)+len(m.Auth.Introspection) == 0,
		"auth: an endpoint with tokens needs an issuer; write auth { issuer https://… }, or auth { mode none } for a server that only this machine may use")
	problem(m.authenticates() && m.Resource == "",
		"resource: an endpoint with tokens needs its public URL; write resource https://your.host"+m.Path)
	problem(!m.authenticates() && len(m.Auth.Issuers)+len(m.Auth.Introspection) > 0, "auth: mode none judges no tokens; remove the mode line or the issuers")
	problem(!m.authenticates() && m.Identity != nil && m.Identity.Exchange != nil, "identity: without tokens there is nothing to exchange; remove exchange or auth { mode none }")
	problem(!m.authenticates() && m.Identity != nil && m.Identity.Assertion != nil, "identity: without tokens there is nobody to certify; remove assertion or auth { mode none }")
	problem(m.identity.fault() != "", m.identity.fault())
	problem(m.forwardsToken() && m.Identity.Exchange != nil, "identity: the server gets either the caller's token or one of its own; remove forward_token or exchange")
	problem(!m.authenticates() && m.Tenant != nil, "tenant: without tokens nobody's tenant is known; remove auth { mode none } or the tenant block")
	problem(m.Tenant != nil && clientChosen(m.Tenant.Require), "tenant: require must not be something every client can write, such as a cookie or the query; use the host name, or a header set by a trusted proxy")
	problem(m.Tenant != nil && m.Tenant.Claim == "", "tenant: name the claim that holds the tenant; write tenant { claim org_id }")
	problem(m.Tenant != nil && m.Policy.Default == policy.Allow,
		"policy: default allow beside a tenant block shows every tool a server update adds to every tenant; name the tools, or write tool * to say that you mean all of them")
	problem(m.Policy.Default != policy.Allow && len(m.Policy.Rules) == 0,
		"policy: no rules and default deny show nothing to anybody; write policy { tool * } to show all tools")
	m.origins = make(originSet)
	for _, text := range m.Origins {
		if err := parseOrigin(text); err != nil {
			problems = append(problems, err)
		}
		m.origins[text] = true
	}
	return errors.Join(problems...)
}

// leeway is the clock difference tolerated for tokens.
func (m *Handler) leeway() time.Duration {
	if m.Auth.Leeway != nil {
		return time.Duration(*m.Auth.Leeway)
	}
	return token.DefaultLeeway
}

// Validate refuses rules that contradict each other across blocks.
func (m *Handler) Validate() error {
	for _, rule := range m.Policy.Rules {
		for _, tenant := range rule.Tenants {
			if m.Tenant == nil {
				return fmt.Errorf("policy: %s %s names tenants, but there is no tenant block", rule.Kind, rule.Pattern)
			}
			if !m.tenancy.Allows(tenant) {
				return fmt.Errorf("policy: %s %s names tenant %q, which tenant { allow } does not list", rule.Kind, rule.Pattern, tenant)
			}
		}
	}
	return nil
}

func (m *Handler) provisionAuth() error {
	verifier, release, err := m.Auth.buildChecker(m.logger)
	m.release = append(m.release, release)
	if err != nil {
		return err
	}
	m.verifier = verifier
	return m.buildRoutes()
}

// onceSet remembers what has been warned about, so that a fault met on every
// request costs one log line.
type onceSet struct {
	mu    sync.Mutex
	seen  map[string]bool
	found []openai.Finding // what was said, for the admin API; as bounded as seen
}

// note keeps a finding that was the first of its key.
func (s *onceSet) note(f openai.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, f)
}

// noted returns what was kept.
func (s *onceSet) noted() []openai.Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found)
}

// first reports whether key is new. The set is bounded: past its bound nothing
// is new any more.
func (s *onceSet) first(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[key] || len(s.seen) >= 1000 {
		return false
	}
	s.seen[key] = true
	return true
}

// warnFindings is [Handler.warnFindings], unless this exchange only tries out.
func (e *exchange) warnFindings(findings []openai.Finding) {
	if e.found != nil {
		e.found(findings)
		return
	}
	countFindings(findings)
	e.Handler.warnFindings(findings)
}

// warnFindings logs what the overlay has to say, each once for this config. A
// capability withheld from one caller is what the policy is for, not a fault.
func (m *Handler) warnFindings(findings []openai.Finding) {
	m.warnOnce("declaration left out", findings)
}

// warnOnce is warnFindings under a message of the caller's.
func (m *Handler) warnOnce(message string, findings []openai.Finding) {
	for _, f := range findings {
		key := f.Code + " " + f.Subject
		if f.Repaired() {
			key += " " + f.Detail // one tool may need the same repair in several places
		}
		if !m.warned.first(key) {
			continue
		}
		m.warned.note(f)
		level, said := zapcore.WarnLevel, message
		switch {
		case f.Code == "capability-withheld":
			level = zapcore.InfoLevel
		case f.Repaired():
			said = "schema repaired"
		}
		m.logger.Log(level, said, zap.String("code", f.Code), zap.String("subject", f.Subject), zap.String("detail", f.Detail), zap.String("fix", f.Fix))
	}
}
