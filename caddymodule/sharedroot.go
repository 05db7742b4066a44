package caddymodule

import (
	"net/url"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// rootClaims counts the endpoints of each host, to find out where a root
// document would be ambiguous (RFC 9728 §3.1 knows one resource per path). It
// is kept per configuration, whose metrics registry serves as its name.
var rootClaims = struct {
	mu     sync.Mutex
	counts map[rootClaim]int
}{counts: make(map[rootClaim]int)}

type rootClaim struct {
	config *prometheus.Registry
	host   string // of the resource, as a template
}

// claimRoot counts this endpoint; the release is given back in Cleanup.
func (m *Handler) claimRoot(config *prometheus.Registry) {
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(m.Resource))
	if err != nil || m.Resource == "" {
		return
	}
	claim := rootClaim{config, u.Scheme + "://" + u.Host}
	rootClaims.mu.Lock()
	defer rootClaims.mu.Unlock()
	rootClaims.counts[claim]++
	m.rootClaim = claim
	m.release = append(m.release, func() {
		rootClaims.mu.Lock()
		defer rootClaims.mu.Unlock()
		if rootClaims.counts[claim]--; rootClaims.counts[claim] == 0 {
			delete(rootClaims.counts, claim)
		}
	})
}

// sharesRoot reports whether u is a root document that more than one endpoint
// could answer for.
func (m *Handler) sharesRoot(u *url.URL) bool {
	if m.documents.root || u.Path != wellKnownResource && u.Path != wellKnownIssuer {
		return false
	}
	rootClaims.mu.Lock()
	defer rootClaims.mu.Unlock()
	return rootClaims.counts[m.rootClaim] > 1
}
