package workspace

import (
	"net/http"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// The headers a caller is known by. Whoever can set them is whoever they say.
const (
	TenantHeader  = "X-Mcp-App-Tenant"
	SubjectHeader = "X-Mcp-App-Subject"
)

// maxIdentity bounds a tenant or subject, in bytes.
const maxIdentity = 256

// callerOf reads the caller of one HTTP request from its headers. In a session
// each request has its own: the one that opened the session counts for nothing.
// Requests without a tenant are refused, and repeated headers, because choosing
// one of two would be a guess.
func callerOf(h http.Header) (store.Caller, error) {
	tenant, err := identityHeader(h, TenantHeader)
	if err != nil {
		return store.Caller{}, err
	}
	if tenant == "" {
		return store.Caller{}, store.Refuse(store.NoTenant, "no tenant: the request carries no "+TenantHeader+" header")
	}

	subject, err := identityHeader(h, SubjectHeader)
	if err != nil {
		return store.Caller{}, err
	}

	return store.Caller{Tenant: tenant, Subject: subject}, nil
}

func identityHeader(h http.Header, name string) (string, error) {
	values := h.Values(name)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", store.Refuse(store.NoTenant, "the request carries more than one "+name+" header")
	case len(values[0]) > maxIdentity:
		return "", store.Refuse(store.NoTenant, "the "+name+" header is too long")
	}

	return values[0], nil
}
