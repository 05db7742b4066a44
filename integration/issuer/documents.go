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
)

// noLogin stands for the endpoints that metadata must name although nobody can
// log in here.
const noLogin Document = "no login"

// Paths below the issuer's URL.
const (
	keysPath      = "/keys"
	authorizePath = "/authorize"
	tokenPath     = "/token"
)

// metadata is the content of both metadata documents (RFC 8414 §2, OpenID
// Connect Discovery §3).
type metadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	JWKSURI               string   `json:"jwks_uri"`
	ResponseTypes         []string `json:"response_types_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	SubjectTypes          []string `json:"subject_types_supported"`
	IDTokenAlgorithms     []string `json:"id_token_signing_alg_values_supported"`
}

// JWKSURL returns where the key set is published.
func (i *Issuer) JWKSURL() string { return i.url + keysPath }

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
		base + keysPath:      JWKS,
		base + authorizePath: noLogin,
		base + tokenPath:     noLogin,
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
	_, _ = w.Write(body) // a client that went away needs no answer
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
		TokenEndpoint:         i.url + tokenPath,
		JWKSURI:               i.JWKSURL(),
		ResponseTypes:         []string{"code"},
		GrantTypes:            []string{"authorization_code"},
		ChallengeMethods:      []string{"S256"},
		TokenAuthMethods:      []string{"none"},
		SubjectTypes:          []string{"public"},
		IDTokenAlgorithms:     algorithms,
	}
}
