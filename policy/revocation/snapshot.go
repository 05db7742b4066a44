package revocation

import "time"

// snapshot is the list as callers are judged by: read only, replaced as a
// whole.
type snapshot struct {
	tokens   map[string]cutoff
	subjects map[subject]cutoff
	tenants  map[string]cutoff
	// nextEnd is when the first entry ends, zero without entries.
	nextEnd time.Time
	entries int // in force
}

type subject struct{ issuer, name string }

// cutoff is the moment before which tokens must have been issued to be
// revoked: what several entries about the same thing come to.
type cutoff struct {
	all    bool
	before time.Time
}

func newSnapshot(known map[string]Entry) *snapshot {
	s := &snapshot{tokens: make(map[string]cutoff), subjects: make(map[subject]cutoff), tenants: make(map[string]cutoff)}
	for _, e := range known {
		if s.nextEnd.IsZero() || e.Expires.Before(s.nextEnd) {
			s.nextEnd = e.Expires
		}
		if e.Lifted {
			continue
		}
		s.entries++
		switch {
		case e.JTI != "":
			s.tokens[e.JTI] = s.tokens[e.JTI].with(e)
		case e.Subject != "":
			name := subject{e.Issuer, e.Subject}
			s.subjects[name] = s.subjects[name].with(e)
		default:
			s.tenants[e.Tenant] = s.tenants[e.Tenant].with(e)
		}
	}

	return s
}

// revokes reports whether some entry concerns the caller.
func (s *snapshot) revokes(c Caller) bool {
	if s.entries == 0 {
		return false
	}

	return s.tokens[c.ID].covers(c.IssuedAt) ||
		s.subjects[subject{c.Issuer, c.Subject}].covers(c.IssuedAt) ||
		s.tenants[c.Tenant].covers(c.IssuedAt)
}

func (c cutoff) with(e Entry) cutoff {
	c.all = c.all || e.IssuedBefore.IsZero()
	if e.IssuedBefore.After(c.before) {
		c.before = e.IssuedBefore
	}

	return c
}

// covers reports whether a token of that age is revoked. The zero cutoff covers
// nothing. Tokens tell whole seconds only (RFC 7519 §2): one issued later in
// the second of the cutoff is taken for an older one.
func (c cutoff) covers(issuedAt time.Time) bool {
	return c.all || issuedAt.Before(c.before)
}
