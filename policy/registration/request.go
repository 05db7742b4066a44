package registration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
)

// maxText bounds every text of a request, in bytes.
const maxText = 1024

// Request asks for a registration.
type Request struct {
	Endpoint  string   // path or resource of the endpoint
	Tools     []string // exact names
	MaxCalls  int64    // 1 to MaxCalls
	TTL       time.Duration
	Principal *Principal // nil for anybody
}

// ParseRequest reads a request as JSON:
//
//	{"endpoint": "/mcp", "tools": ["search"], "max_calls": 12, "ttl": "1h",
//	 "principal": {"issuer": "…", "subject": "…", "tenant": "…"}}
//
// max_calls, ttl and principal may be left out, and so may the tenant. maxTTL
// bounds ttl, and its default as well. Unknown, repeated and misspelt members
// are errors: a typing mistake must not open more than was meant.
func ParseRequest(data []byte, maxTTL time.Duration) (Request, error) {
	var wire struct {
		Endpoint  string   `json:"endpoint"`
		Tools     []string `json:"tools"`
		MaxCalls  *int64   `json:"max_calls"`
		TTL       *string  `json:"ttl"`
		Principal *struct {
			Issuer  string `json:"issuer"`
			Subject string `json:"subject"`
			Tenant  string `json:"tenant"`
		} `json:"principal"`
	}
	if err := json.Unmarshal(data, &wire, json.RejectUnknownMembers(true)); err != nil {
		return Request{}, fmt.Errorf("reading the registration: %w", err)
	}
	r := Request{Endpoint: wire.Endpoint, Tools: wire.Tools, MaxCalls: DefaultMaxCalls, TTL: min(DefaultTTL, maxTTL)}
	if wire.MaxCalls != nil {
		r.MaxCalls = *wire.MaxCalls
	}
	if wire.TTL != nil {
		var err error
		if r.TTL, err = time.ParseDuration(*wire.TTL); err != nil || r.TTL <= 0 || r.TTL > maxTTL {
			return Request{}, fmt.Errorf(`ttl must be a duration such as "30m", at most %s`, maxTTL)
		}
	}
	if p := wire.Principal; p != nil {
		r.Principal = &Principal{Issuer: p.Issuer, Subject: p.Subject, Tenant: p.Tenant}
	}
	return r, r.check()
}

func (r Request) check() error {
	switch {
	case r.Endpoint == "":
		return errors.New(`name the endpoint: "endpoint": "/mcp"`)
	case len(r.Tools) == 0 || len(r.Tools) > MaxTools:
		return fmt.Errorf(`"tools" needs 1 to %d exact names`, MaxTools)
	case r.MaxCalls < 1 || r.MaxCalls > MaxCalls:
		return fmt.Errorf("max_calls must be between 1 and %d", MaxCalls)
	case r.Principal != nil && (r.Principal.Issuer == "" || r.Principal.Subject == ""):
		return errors.New(`a principal needs both "issuer" and "subject"`)
	}
	texts := slices.Clone(r.Tools)
	for i, tool := range r.Tools {
		if tool == "" || strings.Contains(tool, "*") {
			return fmt.Errorf("tools: %.64q is no exact name", tool)
		}
		if slices.Contains(r.Tools[:i], tool) {
			return fmt.Errorf("tools: %.64q is named twice", tool)
		}
	}
	if p := r.Principal; p != nil {
		texts = append(texts, p.Issuer, p.Subject, p.Tenant)
	}
	for _, text := range texts {
		if len(text) > maxText {
			return fmt.Errorf("a text is longer than %d bytes", maxText)
		}
		if strings.ContainsFunc(text, unicode.IsControl) {
			return errors.New("a text holds control characters")
		}
	}
	return nil
}
