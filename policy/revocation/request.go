package revocation

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
)

// maxText bounds every text of a request, in bytes. Subjects, the longest of
// what tokens may hold, are at most 1,024 characters.
const maxText = 4096

// maxAhead is how far issued_before may lie in the future. More is a mistake:
// it would revoke tokens that nobody has yet.
const maxAhead = time.Minute

// Request says what to revoke: exactly one of JTI, Subject with Issuer, and
// Tenant.
type Request struct {
	JTI             string
	Issuer, Subject string
	Tenant          string
	// IssuedBefore, if set, spares tokens issued at that moment or later.
	IssuedBefore time.Time
	// TTL is how long tokens of that kind may still live. Zero means
	// DefaultTTL.
	TTL time.Duration
}

// ParseRequest reads a request as JSON:
//
//	{"subject": "…", "issuer": "…", "issued_before": "2026-01-02T15:04:05Z", "ttl": "12h"}
//
// with "jti" or "tenant" instead of subject and issuer. Unknown, repeated and
// misspelt members are errors: a typing mistake must not revoke more or less
// than was meant.
func ParseRequest(data []byte) (Request, error) {
	var wire struct {
		JTI          string  `json:"jti"`
		Issuer       string  `json:"issuer"`
		Subject      string  `json:"subject"`
		Tenant       string  `json:"tenant"`
		IssuedBefore *string `json:"issued_before"`
		TTL          *string `json:"ttl"`
	}
	if err := json.Unmarshal(data, &wire, json.RejectUnknownMembers(true)); err != nil {
		return Request{}, fmt.Errorf("reading the revocation: %w", err)
	}
	r := Request{JTI: wire.JTI, Issuer: wire.Issuer, Subject: wire.Subject, Tenant: wire.Tenant}
	if wire.IssuedBefore != nil {
		var err error
		if r.IssuedBefore, err = time.Parse(time.RFC3339, *wire.IssuedBefore); err != nil {
			return Request{}, errors.New(`issued_before must be a time such as "2026-01-02T15:04:05Z"`)
		}
		if r.IssuedBefore.Year() < 1970 {
			return Request{}, errors.New("issued_before lies before all tokens")
		}
	}
	if wire.TTL != nil {
		var err error
		if r.TTL, err = time.ParseDuration(*wire.TTL); err != nil || r.TTL <= 0 || r.TTL > MaxTTL {
			return Request{}, fmt.Errorf(`ttl must be a duration such as "12h", at most %s`, MaxTTL)
		}
	}

	return r, r.check()
}

// check refuses a request that names nothing or several things.
func (r Request) check() error {
	if r.TTL < 0 || r.TTL > MaxTTL {
		return fmt.Errorf("a revocation lasts at most %s", MaxTTL)
	}
	if time.Until(r.IssuedBefore) > maxAhead {
		return errors.New("issued_before lies in the future")
	}

	return r.entry(time.Now()).check()
}

// entry makes the entry that begins now. Its times are whole milliseconds in
// UTC, which every replica reads back unchanged.
func (r Request) entry(now time.Time) Entry {
	ttl := r.TTL
	if ttl == 0 {
		ttl = DefaultTTL
	}
	e := Entry{
		JTI: r.JTI, Issuer: r.Issuer, Subject: r.Subject, Tenant: r.Tenant,
		IssuedBefore: r.IssuedBefore.UTC(),
		Changed:      now.UTC().Truncate(time.Millisecond),
		Expires:      now.Add(ttl + time.Millisecond).UTC().Truncate(time.Millisecond),
	}
	e.ID = e.id()

	return e
}

// check judges what an entry names.
func (e Entry) check() error {
	named := 0
	for _, text := range []string{e.JTI, e.Subject, e.Tenant} {
		if text != "" {
			named++
		}
	}
	switch {
	case named != 1:
		return errors.New(`name exactly one of "jti", "subject" with "issuer", and "tenant"`)
	case e.Subject != "" && e.Issuer == "":
		return errors.New(`a subject is known only together with its "issuer"`)
	case e.Subject == "" && e.Issuer != "":
		return errors.New(`"issuer" goes with "subject"`)
	}
	for _, text := range []string{e.JTI, e.Issuer, e.Subject, e.Tenant} {
		if len(text) > maxText {
			return fmt.Errorf("a text is longer than %d bytes", maxText)
		}
		if strings.ContainsFunc(text, unicode.IsControl) {
			return errors.New("a text holds control characters, which no accepted token does")
		}
	}

	return nil
}
