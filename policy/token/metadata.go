package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// wellKnownResource is the path of RFC 9728 §3.
const wellKnownResource = "/.well-known/oauth-protected-resource"

// ResourceMetadata is the protected resource metadata of one MCP endpoint
// (RFC 9728 §2).
type ResourceMetadata struct {
	// Resource is the identifier that clients send as "resource" and that
	// comes back as the token's audience. Clients compare it byte by byte with
	// the URL they know.
	Resource string `json:"resource"`
	// AuthorizationServers are the issuers whose tokens are accepted, at least
	// one; clients use the first.
	AuthorizationServers []string `json:"authorization_servers"`
	// ScopesSupported is left out if empty: some clients take an empty list
	// for "no scope may be asked for".
	ScopesSupported []string `json:"scopes_supported,omitempty"`
	// BearerMethodsSupported is always ["header"]; JSON sets it.
	BearerMethodsSupported []string `json:"bearer_methods_supported"`
	// Name, Documentation, Policy and Terms are for people; all are optional.
	Name          string `json:"resource_name,omitempty"`
	Documentation string `json:"resource_documentation,omitempty"`
	Policy        string `json:"resource_policy_uri,omitempty"`
	Terms         string `json:"resource_tos_uri,omitempty"`
}

// JSON returns the document: always the same bytes for the same values. It
// refuses metadata that clients would refuse: without an authorization server,
// or with a scope that RFC 6749 §3.3 does not allow.
func (m ResourceMetadata) JSON() ([]byte, error) {
	if err := CheckURL(m.Resource, true); err != nil {
		return nil, fmt.Errorf("resource: %w", err)
	}
	if len(m.AuthorizationServers) == 0 {
		return nil, errors.New("resource metadata without an authorization server")
	}
	for _, issuer := range m.AuthorizationServers {
		if err := checkIssuer(issuer, true); err != nil {
			return nil, fmt.Errorf("authorization server: %w", err)
		}
	}
	for _, scope := range m.ScopesSupported {
		if !IsScopeToken(scope) {
			return nil, fmt.Errorf("%q is not a scope", scope)
		}
	}
	m.BearerMethodsSupported = []string{"header"}

	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("encoding resource metadata: %w", err)
	}

	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// MetadataURL returns where the metadata of a resource is to be found: the
// well-known path is inserted between host and path, and a path of "/" counts
// as none (RFC 9728 §3.1).
func MetadataURL(resource string) (string, error) {
	u, err := parseURL(resource, true)
	if err != nil {
		return "", err
	}

	// Cut out of the text, because clients too keep its spelling.
	rest := strings.TrimPrefix(resource[len(u.Scheme)+len("://"):], u.Host)
	if path, query, _ := strings.Cut(rest, "?"); path == "/" {
		rest = strings.TrimSuffix("?"+query, "?")
	}

	return u.Scheme + "://" + u.Host + wellKnownResource + rest, nil
}

// MetadataPath returns the path of MetadataURL, in its escaped form and
// without the query: "https://h/mcp" gives
// "/.well-known/oauth-protected-resource/mcp".
func MetadataPath(resource string) (string, error) {
	address, err := MetadataURL(resource)
	if err != nil {
		return "", err
	}
	_, path, _ := strings.Cut(address, wellKnownResource)
	path, _, _ = strings.Cut(path, "?")

	return wellKnownResource + path, nil
}
