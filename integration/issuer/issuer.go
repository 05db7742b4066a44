// Package issuer is a small token issuer for the demo and for tests.
//
// It publishes metadata and keys over HTTP like an authorization server does and
// signs whatever its owner asks for, in process: there is no login. Clients that
// its owner registers can ask about tokens (RFC 7662) and exchange them (RFC
// 8693). Keys rotate on demand, tokens can be revoked and everything it serves
// can be made to fail, so that a verifier can be shown what happens to it in the
// field.
package issuer

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Config names the issuer.
type Config struct {
	// URL is the issuer identifier, exact to the byte: the value of "iss" and of
	// "issuer" in the metadata. http or https, without query, fragment or a slash
	// at the end.
	URL string
}

// Issuer signs tokens and serves its documents. It is safe for concurrent use.
type Issuer struct {
	url   string
	paths map[string]Document // path of the request -> what it serves

	mu      sync.Mutex
	keys    []*key // in the order made; the last of an algorithm signs
	serial  int    // number of keys ever made, for their ids
	faults  map[Document]Fault
	lifted  map[Document]chan struct{} // closed when a Slow fault is lifted
	fetches map[Document]int
	clients map[string]string         // id -> secret
	opaque  map[string]map[string]any // token -> what introspection says of it
	revoked map[string]bool           // tokens of both kinds
}

// New makes an issuer with one key for each of RS256, ES256 and EdDSA.
func New(cfg Config) (*Issuer, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("reading issuer URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" ||
		strings.Contains(cfg.URL, "#") || strings.HasSuffix(cfg.URL, "/") {
		return nil, fmt.Errorf("issuer URL %q: want http(s)://host[/path] without a slash at the end", cfg.URL)
	}

	i := &Issuer{
		url:     cfg.URL,
		paths:   documentPaths(u.Path),
		faults:  make(map[Document]Fault),
		lifted:  make(map[Document]chan struct{}),
		fetches: make(map[Document]int),
		clients: make(map[string]string),
		opaque:  make(map[string]map[string]any),
		revoked: make(map[string]bool),
	}
	for _, alg := range algorithms {
		if _, err := i.Rotate(alg); err != nil {
			return nil, err
		}
	}

	return i, nil
}

// Handler serves the metadata documents, the key set and the endpoints for
// registered clients, each with its fault.
func (i *Issuer) Handler() http.Handler {
	return http.HandlerFunc(i.serve)
}

// ErrUnknownKey is the answer to a key id that was never given out or that the
// operation cannot use any more.
var ErrUnknownKey = errors.New("unknown key")
