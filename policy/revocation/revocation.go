package revocation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Bounds and defaults.
const (
	// DefaultTTL is how long a revocation lasts: longer than access tokens
	// usually live. With the last of the tokens concerned it has done its work.
	DefaultTTL = 24 * time.Hour
	// MaxTTL is the longest it may last.
	MaxTTL = 366 * 24 * time.Hour
	// DefaultMaxStale is how long a list is trusted that could not be compared
	// with the shared one.
	DefaultMaxStale = 30 * time.Second
	// MaxEntries bounds the list. Where more tokens are to be revoked, one
	// entry for the subject or the tenant does it.
	MaxEntries = 10_000
)

var (
	// ErrRevoked says that the caller's access has been taken back: 401.
	ErrRevoked = errors.New("access has been revoked")
	// ErrStale says that the list is not known, or too old to be trusted: 503.
	ErrStale = errors.New("the revocation list is out of date")
	// ErrFull says that the list holds MaxEntries.
	ErrFull = fmt.Errorf("the revocation list holds %d entries already; revoke the subject or the tenant instead", MaxEntries)
	// ErrNotFound says that there is no entry of that id.
	ErrNotFound = errors.New("no such revocation")
)

// Caller is what of a verified token a revocation can name. The zero value is
// nobody, who is never revoked.
type Caller struct {
	// Issuer and Subject together name the principal.
	Issuer, Subject string
	// Tenant is the one the caller acts for, or empty.
	Tenant string
	// ID is the token's `jti`, or empty.
	ID string
	// IssuedAt is the token's `iat`. A token without one is older than any
	// moment.
	IssuedAt time.Time
}

// Entry is one revocation as it is kept, listed and sent to other replicas.
// Exactly one of JTI, Subject and Tenant is set, Issuer with Subject only.
type Entry struct {
	// ID follows from what is revoked: the same request makes the same entry.
	ID      string `json:"id"`
	JTI     string `json:"jti,omitempty"`
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject,omitempty"`
	Tenant  string `json:"tenant,omitempty"`
	// IssuedBefore restricts the entry to tokens issued before it. Zero means
	// all tokens, also those issued later.
	IssuedBefore time.Time `json:"issued_before,omitzero"`
	// Changed is when the entry was made or lifted; the later of two entries
	// of one id counts.
	Changed time.Time `json:"changed"`
	// Expires is when the entry ends.
	Expires time.Time `json:"expires"`
	// Lifted marks an entry that was taken back. It is kept as long as the
	// entry would have been, so that no replica brings that back.
	Lifted bool `json:"lifted,omitempty"`
}

// id names what an entry revokes. Lengths keep different fields from running
// into each other.
func (e Entry) id() string {
	h := sha256.New()
	for _, field := range []string{e.JTI, e.Issuer, e.Subject, e.Tenant, e.IssuedBefore.UTC().Format(time.RFC3339Nano)} {
		fmt.Fprintf(h, "%d:%s", len(field), field)
	}

	return hex.EncodeToString(h.Sum(nil)[:16])
}

// supersedes reports whether e counts and not other, which has the same id. Of
// two from the same moment the stricter counts.
func (e Entry) supersedes(other Entry) bool {
	switch {
	case !e.Changed.Equal(other.Changed):
		return e.Changed.After(other.Changed)
	case e.Lifted != other.Lifted:
		return other.Lifted
	default:
		return e.Expires.After(other.Expires)
	}
}

func (e Entry) equal(other Entry) bool {
	return e.ID == other.ID && e.Lifted == other.Lifted && e.Changed.Equal(other.Changed) && e.Expires.Equal(other.Expires)
}

// decodeEntry reads an entry that another replica wrote, or another version of
// this program: members it does not know are no fault.
func decodeEntry(data []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return Entry{}, fmt.Errorf("reading a revocation: %w", err)
	}
	if e.ID != e.id() || e.Changed.IsZero() || e.Expires.IsZero() {
		return Entry{}, errors.New("reading a revocation: it contradicts itself")
	}
	if err := e.check(); err != nil {
		return Entry{}, fmt.Errorf("reading a revocation: %w", err)
	}

	return e, nil
}
