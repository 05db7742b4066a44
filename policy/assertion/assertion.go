package assertion

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Fixed properties of assertions.
const (
	// TTL is how long an assertion is valid: enough for one request to arrive,
	// too short to be of use to whoever finds it in a log.
	TTL = time.Minute
	// DefaultAudience is the `aud` of an upstream without a name of its own.
	DefaultAudience = "mcp-app-upstream"
)

// Claims are what an assertion says about a caller.
type Claims struct {
	// Resource is the endpoint's public URL, the `iss` of the assertion.
	Resource string
	// Audience is the upstream. Empty means DefaultAudience.
	Audience string
	// Issuer and Subject together name the caller. Subject is the `sub`; since
	// it is unique only within its issuer, both are also in `sub_id` (RFC 9493
	// §3.2.4).
	Issuer, Subject string
	// Tenant, ClientID and Scopes are left out if empty.
	Tenant, ClientID string
	Scopes           []string
}

// header is the protected header (RFC 7515 §4.1).
type header struct {
	Type      string `json:"typ"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

// payload is the claims set. `scope` and `client_id` are those of RFC 8693
// §4.2 and §4.3.
type payload struct {
	Issuer    string    `json:"iss"`
	Audience  string    `json:"aud"`
	Subject   string    `json:"sub"`
	SubjectID subjectID `json:"sub_id"`
	Tenant    string    `json:"tenant,omitempty"`
	Scope     string    `json:"scope,omitempty"`
	ClientID  string    `json:"client_id,omitempty"`
	IssuedAt  int64     `json:"iat"`
	Expiry    int64     `json:"exp"`
	ID        string    `json:"jti"`
}

type subjectID struct {
	Format  string `json:"format"`
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
}

// Sign makes an assertion that is valid from now on for TTL. It reads the
// storage at first use, and waits for it no longer than for the context; an
// error is one of the storage, and the next call tries again.
func (k *Keys) Sign(ctx context.Context, c Claims) (string, error) {
	if c.Resource == "" || c.Issuer == "" || c.Subject == "" {
		return "", errors.New("an assertion needs a resource, an issuer and a subject")
	}
	s, err := k.usable(ctx)
	if err != nil {
		return "", fmt.Errorf("signing an assertion: %w", err)
	}
	now := time.Now()
	p := payload{
		Issuer: c.Resource, Audience: c.Audience, Subject: c.Subject,
		SubjectID: subjectID{"iss_sub", c.Issuer, c.Subject},
		Tenant:    c.Tenant, Scope: strings.Join(c.Scopes, " "), ClientID: c.ClientID,
		IssuedAt: now.Unix(), Expiry: now.Add(TTL).Unix(), ID: rand.Text(),
	}
	if p.Audience == "" {
		p.Audience = DefaultAudience
	}

	return s.signer(now).sign(p)
}

// sign makes the compact form (RFC 7515 §3.1).
func (k *key) sign(p payload) (string, error) {
	h, err := json.Marshal(header{"JWT", "ES256", k.id})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	signed := encode(h) + "." + encode(body)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, digest[:])
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	// Both numbers in 32 bytes each (RFC 7518 §3.4), not the ASN.1 of X.509.
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])

	return signed + "." + encode(signature[:]), nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
