package registration

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// Defaults and bounds of a registration.
const (
	// DefaultMaxCalls is how many calls one has if the request does not say.
	DefaultMaxCalls = 12
	// MaxCalls is how many it can have.
	MaxCalls = 100_000
	// DefaultTTL is how long one lives if the request does not say.
	DefaultTTL = time.Hour
	// DefaultMaxTTL is how long one can live if the operator does not say.
	DefaultMaxTTL = 24 * time.Hour
	// MaxTools is how many tools one can name.
	MaxTools = 256
	// Retention is how long it is still told why one has ended.
	Retention = 10 * time.Minute
)

// ErrNotFound says that there is no such registration for this caller here, or
// no longer. Which it is, nobody is told.
var ErrNotFound = errors.New("registration: no such registration")

// The reasons for which a registration ends.
const (
	Completed     = "completed"      // all calls were made
	Deleted       = "deleted"        // by the operator
	Expired       = "expired"        // its time was up
	StartupFailed = "startup_failed" // the server could not be reached when a client first tried
)

// idPrefix makes ids recognizable to people and to scanners for secrets.
const idPrefix = "reg_"

// Handle is the hash of an id. It names a registration without giving the right
// to use it, and may be logged.
type Handle [sha256.Size]byte

// NewID makes an id of 128 random bits.
func NewID() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return idPrefix + hex.EncodeToString(random[:])
}

// IDLength is the length of every id.
const IDLength = len(idPrefix) + 32

// ParseID reads an id, in its one spelling, and returns its handle.
func ParseID(id string) (Handle, bool) {
	digits, ok := strings.CutPrefix(id, idPrefix)
	if !ok || len(digits) != 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return Handle{}, false
	}
	return sha256.Sum256([]byte(id)), true
}

// ParseHandle reads what String returns.
func ParseHandle(text string) (h Handle, ok bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(h) || hex.EncodeToString(raw) != text {
		return Handle{}, false
	}
	return Handle(raw), true
}

// String returns the handle in lowercase hexadecimal digits.
func (h Handle) String() string { return hex.EncodeToString(h[:]) }

// equal compares in constant time.
func (h Handle) equal(other Handle) bool { return subtle.ConstantTimeCompare(h[:], other[:]) == 1 }

// Principal is whom a registration is bound to. A tenant that is empty is any.
type Principal struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	Tenant  string `json:"tenant,omitempty"`
}

// Endpoint is the one that a registration is for.
type Endpoint struct {
	Path     string `json:"path"`
	Resource string `json:"resource,omitempty"`
}

// Registration is what an id stands for.
type Registration struct {
	Handle    Handle
	Endpoint  Endpoint
	Tools     []string
	MaxCalls  int64
	Principal *Principal // nil for anybody that the endpoint lets in
	Created   time.Time
	Expires   time.Time
	// Ended is the reason for which it has ended before its time, or empty.
	Ended string
}

// fits reports whether the registration is for this caller at this endpoint.
// Every part is compared, whatever the others say.
func (r *Registration) fits(endpoint Endpoint, caller Principal) bool {
	fits := same(r.Endpoint.Path, endpoint.Path) & same(r.Endpoint.Resource, endpoint.Resource)
	if p := r.Principal; p != nil {
		fits &= same(p.Issuer, caller.Issuer) & same(p.Subject, caller.Subject)
		if p.Tenant != "" {
			fits &= same(p.Tenant, caller.Tenant)
		}
	}
	return fits == 1
}

func same(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}
