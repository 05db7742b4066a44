package links

import (
	"fmt"
	"path"
	"strings"
)

// TenantPath is a pattern of [AppURL.Match] in which a placeholder stands for
// the tenant, such as /t/{tenant}/*. The zero value allows every page.
type TenantPath struct {
	before, after string // around the placeholder
	bound         bool   // whether there is a placeholder
}

// ParseTenantPath reads a pattern in which placeholder may stand once, as one
// whole segment: half a segment would let the tenant "acme" reach the pages of
// "acme-two". A pattern that can match nothing is an error.
func ParseTenantPath(pattern, placeholder string) (TenantPath, error) {
	if pattern == "" {
		return TenantPath{}, nil
	}

	before, after, bound := strings.Cut(pattern, placeholder)
	t := TenantPath{before: before, after: after, bound: bound}

	plain := strings.TrimSuffix(pattern, "/*")

	switch {
	case bound && (!strings.HasSuffix(before, "/") || after != "" && !strings.HasPrefix(after, "/")):
		return TenantPath{}, fmt.Errorf("pattern %q: %s must be a whole path segment", pattern, placeholder)
	case strings.ContainsAny(before+after, "{}"):
		return TenantPath{}, fmt.Errorf("pattern %q: the only placeholder allowed here is %s, once", pattern, placeholder)
	case strings.Contains(plain, "*"):
		return TenantPath{}, fmt.Errorf("pattern %q: a star can only stand at the end, as /*", pattern)
	case pattern != "/*" && (!strings.HasPrefix(plain, "/") || path.Clean(plain) != plain):
		return TenantPath{}, fmt.Errorf("pattern %q: must be a clean path that begins with a slash, such as /t/%s/*", pattern, placeholder)
	}

	return t, nil
}

// Bound reports whether the pattern depends on the tenant.
func (t TenantPath) Bound() bool { return t.bound }

// Allows reports whether u is a page of the tenant. A tenant whose name is not
// one plain path segment owns no pages of a pattern that names it: whatever it
// holds besides, a slash or a star, would widen the pattern.
func (t TenantPath) Allows(u AppURL, tenant string) bool {
	switch {
	case t == TenantPath{}:
		return u.Path() != ""
	case !t.bound:
		return u.Match(t.before)
	case tenant == "" || tenant == "." || tenant == ".." || strings.ContainsAny(tenant, `/\*?#%;`):
		return false
	default:
		return u.Match(t.before + tenant + t.after)
	}
}
