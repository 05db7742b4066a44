package membership

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrUnavailable is wrapped by errors of sources that cannot say who is a
// member at the moment. The caller may try again later.
var ErrUnavailable = errors.New("membership cannot be looked up")

// Source looks members up. Implementations are safe for concurrent use.
type Source interface {
	// Member returns the membership of a verified subject. tenant is empty at
	// endpoints that know no tenants. Being no member is not an error; errors
	// wrap ErrUnavailable.
	Member(ctx context.Context, issuer, subject, tenant string) (Membership, error)
}

// Membership is what a source knows about one subject. The zero value is that
// of a stranger. Its slices are shared and must not be changed.
type Membership struct {
	Member bool
	// Roles in the tenant.
	Roles []string
	// Scopes that the member may use of those the token grants; nil sets no
	// limit, an empty list leaves none.
	Scopes []string
}

// Identity names whoever can be a member.
type Identity struct{ Issuer, Subject, Tenant string }

// Claims is the source for operators who trust their tokens: whoever has one
// for the tenant is a member of it until it ends.
type Claims struct{}

// Member implements Source.
func (Claims) Member(context.Context, string, string, string) (Membership, error) {
	return Membership{Member: true}, nil
}

// maxName bounds a role, a scope or a part of an identity, in bytes.
const maxName = 1024

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > maxName:
		return fmt.Errorf("is longer than %d bytes", maxName)
	case strings.TrimSpace(name) != name:
		return errors.New("has blanks around it")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("holds control characters")
	}
	return nil
}

// names reads an optional JSON array of names. Absent gives nil, an empty array
// an empty list; null could mean either, and is refused.
func names(raw jsontext.Value) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw.Kind() != '[' {
		return nil, errors.New("is not an array")
	}
	list := []string{}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("holds something else than texts")
	}
	for _, name := range list {
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("holds a name that %w", err)
		}
	}
	return list, nil
}
