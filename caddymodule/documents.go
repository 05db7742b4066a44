package caddymodule

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/token"
)

const (
	wellKnownResource = "/.well-known/oauth-protected-resource"
	wellKnownIssuer   = "/.well-known/oauth-authorization-server"
)

// documents are the escaped paths of the public documents of an endpoint.
type documents struct {
	metadata []string // RFC 9728; in mode none these are 404
	issuer   []string // RFC 8414, redirected to the issuer or fetched from it
	root     bool     // the endpoint is its host's root, and so is its document
}

// findDocuments says which paths outside the endpoint belong to it. The path in
// them is that of the resource, which is the same for all tenants.
func (m *Handler) findDocuments() error {
	suffix := (&url.URL{Path: m.Path}).EscapedPath()
	if m.authenticates() {
		inserted, err := token.MetadataPath(m.routes[0].resource)
		if err != nil {
			return err
		}
		suffix = strings.TrimPrefix(inserted, wellKnownResource)
	}
	suffix = strings.TrimSuffix(suffix, "/")
	paths := func(base string) []string {
		if m.RootMetadata && suffix != "" {
			return []string{base + suffix, base}
		}
		return []string{base + suffix}
	}
	m.documents.metadata = paths(wellKnownResource)
	m.documents.root = suffix == ""
	if (m.Auth.MetadataRedirect || m.Auth.MetadataProxy) && m.authenticates() {
		m.documents.issuer = paths(wellKnownIssuer)
	}
	return m.prepareIssuerDocument()
}

// prepareIssuerDocument readies what metadata_proxy passes on, or where
// metadata_redirect leads. Nobody is asked
// before a client wants it.
func (m *Handler) prepareIssuerDocument() (err error) {
	switch {
	case m.Auth.MetadataRedirect && m.Auth.MetadataProxy:
		return errors.New("auth: metadata_redirect and metadata_proxy exclude each other: keep one")
	case !m.authenticates():
		return nil
	case m.Auth.MetadataRedirect:
		candidates, err := token.IssuerMetadataURLs(m.Auth.allIssuers()[0])
		if err != nil {
			return err
		}
		m.issuerLocation = candidates[0]
		return nil
	case !m.Auth.MetadataProxy:
		return nil
	}
	if m.issuerDocument, err = token.NewIssuerDocument(m.Auth.allIssuers()[0], nil); err != nil {
		return err
	}
	m.release = append(m.release, m.issuerDocument.Close)
	return nil
}

// serveMetadata answers with the protected-resource metadata (RFC 9728 §3.2).
// Without tokens the document must be a real 404: anything else makes hosts
// believe in a login (a catch-all page of the site, for instance).
func (m *Handler) serveMetadata(w http.ResponseWriter, r *http.Request) error {
	if done := publicDocument(w, r); done {
		return nil
	}
	if !m.authenticates() {
		writeOAuthError(w, http.StatusNotFound, "not_found", "this resource needs no authorization")
		return nil
	}
	at := m.whereOf(r)
	if !at.served {
		m.deny(r, causeRoute, "metadata asked for under a host that stands for no tenant")
		m.forbid(w, r)
		return nil
	}
	writeBody(w, http.StatusOK, "application/json", at.document)
	return nil
}

// serveIssuerMetadata helps clients that take the resource's host for the
// authorization server's: it sends them there, or fetches what they want.
func (m *Handler) serveIssuerMetadata(w http.ResponseWriter, r *http.Request) error {
	if done := publicDocument(w, r); done {
		return nil
	}
	if m.issuerDocument != nil {
		document, err := m.issuerDocument.Get(r.Context())
		if err != nil {
			m.deny(r, causeUnavailable, err.Error())
			w.Header().Set("Retry-After", "10")
			writeOAuthError(w, http.StatusServiceUnavailable, "temporarily_unavailable", "the authorization server's metadata cannot be had")
			return nil
		}
		writeBody(w, http.StatusOK, "application/json", document)
		return nil
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", m.issuerLocation)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// publicDocument prepares the answer for a document that every page may read,
// and reports whether the method needed no document.
func publicDocument(w http.ResponseWriter, r *http.Request) (done bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return false
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", allowedHeaders(""))
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		writeOAuthError(w, http.StatusMethodNotAllowed, "invalid_request", "method not allowed")
	}
	return true
}
