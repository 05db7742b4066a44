package workspace

import "net/http"

// The headers a caller is known by. Whoever can set them is whoever they say.
const (
	TenantHeader  = "X-Mcp-App-Tenant"
	SubjectHeader = "X-Mcp-App-Subject"
)

// maxIdentity bounds a tenant or subject, in bytes.
const maxIdentity = 256

// caller is the identity of one HTTP request. In a session each request has its
// own: the one that opened the session counts for nothing.
type caller struct {
	tenant  string
	subject string // empty if the request names none
}

// callerOf reads the caller from the headers. It refuses requests without a
// tenant, and repeated headers, because choosing one of two would be a guess.
func callerOf(h http.Header) (caller, error) {
	tenant, err := identityHeader(h, TenantHeader)
	if err != nil {
		return caller{}, err
	}
	if tenant == "" {
		return caller{}, refusal("no tenant: the request carries no " + TenantHeader + " header")
	}

	subject, err := identityHeader(h, SubjectHeader)
	if err != nil {
		return caller{}, err
	}

	return caller{tenant: tenant, subject: subject}, nil
}

// person is the caller, if it has a subject to keep settings for.
func (c caller) person() (caller, error) {
	if c.subject == "" {
		return caller{}, refusal("no subject: the request carries no " + SubjectHeader + " header")
	}

	return c, nil
}

func identityHeader(h http.Header, name string) (string, error) {
	values := h.Values(name)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", refusal("the request carries more than one " + name + " header")
	case len(values[0]) > maxIdentity:
		return "", refusal("the " + name + " header is too long")
	}

	return values[0], nil
}
