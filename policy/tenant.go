package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/internal/oneline"
)

// MaxTenantLength bounds a tenant name, in bytes. Names travel in a header of
// the upstream request and in cache keys.
const MaxTenantLength = 1024

// ErrTenant is wrapped by every refusal of [Tenancy.Resolve]. The text behind
// it is for the operator's log; the caller is told nothing but "forbidden".
var ErrTenant = errors.New("tenant refused")

// Tenancy binds a caller to one tenant. The zero value knows no tenants.
type Tenancy struct {
	// Claim is the claim that names the caller's tenant or tenants: a string or
	// an array of strings. Empty turns tenancy off.
	Claim string
	// Allow lists the tenants served; empty allows every valid name.
	Allow []string
}

// Route is what the request itself says about the tenant it is meant for, made
// by the operator's `require`, never by the client alone.
type Route struct {
	// Bound says that the route stands for one tenant.
	Bound bool
	// Tenant is that tenant. Bound with an empty Tenant refuses everybody.
	Tenant string
}

// Enabled reports whether tenants are told apart at all.
func (t Tenancy) Enabled() bool { return t.Claim != "" }

// Allows reports whether name is a tenant this endpoint serves.
func (t Tenancy) Allows(name string) bool {
	return validTenant(name) == nil && (len(t.Allow) == 0 || slices.Contains(t.Allow, name))
}

// Resolve returns the one tenant the caller acts for. claim is the value of
// the tenant claim, nil if the token has none. A caller of several tenants acts
// as the one the route stands for; without such a route the choice would be a
// guess and is refused. All errors wrap [ErrTenant].
func (t Tenancy) Resolve(claim any, route Route) (string, error) {
	if !t.Enabled() {
		return "", nil
	}
	named, err := tenantNames(claim)
	if err != nil {
		return "", fmt.Errorf("%w: claim %q: %w", ErrTenant, t.Claim, err)
	}
	var tenant string
	switch {
	case route.Bound && route.Tenant == "":
		return "", fmt.Errorf("%w: the route names no tenant", ErrTenant)
	case route.Bound && !slices.Contains(named, route.Tenant):
		return "", fmt.Errorf("%w: the route stands for %q, claim %q says %q", ErrTenant, route.Tenant, t.Claim, named)
	case route.Bound:
		tenant = route.Tenant
	case len(named) > 1:
		return "", fmt.Errorf("%w: claim %q names %d tenants and the route none; add `require`", ErrTenant, t.Claim, len(named))
	default:
		tenant = named[0]
	}
	if !t.Allows(tenant) {
		return "", fmt.Errorf("%w: %q is not in `allow`", ErrTenant, tenant)
	}
	return tenant, nil
}

// tenantNames reads a tenant claim.
func tenantNames(claim any) ([]string, error) {
	names, err := stringList(claim)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("names no tenant")
	}
	for _, name := range names {
		if err := validTenant(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// validTenant refuses names that could not travel in a header unchanged.
func validTenant(name string) error {
	switch {
	case name == "":
		return errors.New("tenant name is empty")
	case len(name) > MaxTenantLength:
		return fmt.Errorf("tenant name is longer than %d bytes", MaxTenantLength)
	case !utf8.ValidString(name):
		return errors.New("tenant name is not UTF-8")
	case strings.TrimSpace(name) != name:
		return errors.New("tenant name has blanks around it")
	case !oneline.Is(name):
		return errors.New("tenant name holds control characters")
	}
	return nil
}
