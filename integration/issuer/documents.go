package issuer

import (
	"encoding/json"
	"net/http"
)

// Document is one thing the issuer publishes.
type Document string

const (
	// OAuthMetadata is RFC 8414's document: the well-known name in front of the
	// issuer's path.
	OAuthMetadata Document = "oauth-authorization-server"
	// OIDCMetadata is OpenID Connect's: the well-known name behind the issuer's
	// path, and in front of it as RFC 8414 §5 allows.
	OIDCMetadata Document = "openid-configuration"
	// JWKS is the key set, at /keys below the issuer's URL.
	JWKS Document = "jwks"
	// Introspection is RFC 7662's answer about a token, at /introspect.
	Introspection Document = "introspection"
	// TokenExchange is RFC 8693's answer with another token, at /token.
	TokenExchange Document = "token exchange"
)

// noLogin stands for the endpoint that metadata must name although nobody can
// log in here.
const noLogin Document = "no login"

// Paths below the issuer's URL.
const (
	keysPath       = "/keys"
	authorizePath  = "/authorize"
	tokenPath      = "/token"
	introspectPath = "/introspect"
)

// metadata is the content of both metadata documents (RFC 8414 §2, OpenID
// Connect Discovery §3).
type metadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	IntrospectionEndpoint string   `json:"introspection_endpoint"`
	JWKSURI               string   `json:"jwks_uri"`
	ResponseTypes         []string `json:"response_types_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	IntrospectionMethods  []string `json:"introspection_endpoint_auth_methods_supported"`
	SubjectTypes          []string `json:"subject_types_supported"`
	IDTokenAlgorithms     []string `json:"id_token_signing_alg_values_supported"`
}

// JWKSURL returns where the key set is published.
func (i *Issuer) JWKSURL() string { return i.url + keysPath }

// IntrospectionURL returns where registered clients ask about tokens.
func (i *Issuer) IntrospectionURL() string { return i.url + introspectPath }

// TokenURL returns where registered clients exchange tokens.
func (i *Issuer) TokenURL() string { return i.url + tokenPath }

// Fetches returns how many requests for a document arrived, failed ones too.
func (i *Issuer) Fetches(d Document) int {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.fetches[d]
}

// documentPaths maps the paths of an issuer whose URL has the given path.
func documentPaths(base string) map[string]Document {
	return map[string]Document{
		"/.well-known/" + string(OAuthMetadata) + base: OAuthMetadata,
		"/.well-known/" + string(OIDCMetadata) + base:  OIDCMetadata,
		base + "/.well-known/" + string(OIDCMetadata):  OIDCMetadata,
		base + keysPath:       JWKS,
		base + authorizePath:  noLogin,
		base + tokenPath:      TokenExchange,
		base + introspectPath: Introspection,
	}
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	document, ok := i.paths[r.URL.Path]
	switch {
	case !ok:
		http.NotFound(w, r)
		return
	case document == noLogin:
		http.Error(w, "this issuer gives tokens only to the process it runs in", http.StatusNotImplemented)
		return
	case document == Introspection || document == TokenExchange:
		i.serveForm(w, r, document)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}

	fault := i.fetch(r.Context(), document)
	if fault.spoil(w, r) {
		return
	}

	body, err := i.content(document, fault)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(fault.alter(body)) // a client that went away needs no answer
}

func (i *Issuer) content(d Document, fault Fault) ([]byte, error) {
	if d != JWKS {
		m := i.metadata()
		if fault == WrongIssuer {
			m.Issuer += "/other"
		}

		return json.Marshal(m)
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	keys, err := i.publicKeysLocked()
	if err != nil {
		return nil, err
	}

	return json.Marshal(map[string]any{"keys": keys})
}

func (i *Issuer) metadata() metadata {
	return metadata{
		Issuer:                i.url,
		AuthorizationEndpoint: i.url + authorizePath,
		TokenEndpoint:         i.TokenURL(),
		IntrospectionEndpoint: i.IntrospectionURL(),
		JWKSURI:               i.JWKSURL(),
		ResponseTypes:         []string{"code"},
		GrantTypes:            []string{"authorization_code", exchangeGrant},
		ChallengeMethods:      []string{"S256"},
		TokenAuthMethods:      []string{"none", "client_secret_basic", "client_secret_post"},
		IntrospectionMethods:  []string{"client_secret_basic", "client_secret_post"},
		SubjectTypes:          []string{"public"},
		IDTokenAlgorithms:     algorithms,
	}
}
