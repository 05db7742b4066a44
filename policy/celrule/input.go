package celrule

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
)

// MaxArguments bounds the arguments that a condition looks at, in bytes, and
// with them the length of a text that it searches.
const MaxArguments = 256 << 10

// Input is what one evaluation sees. Functions are called only if the
// condition gets to what they provide; nil ones and errors make it fail.
type Input struct {
	// The verified caller, with scopes as granted and implied.
	Issuer, Subject, Tenant, ClientID string
	Scopes                            []string
	// Roles gives the caller's roles.
	Roles func() ([]string, error)
	// Claims as decoded: map[string]any, []any, string, bool, nil and numbers.
	Claims map[string]any

	// Method is the method that uses the name, not the one that lists it.
	Method, Name string
	// ClientIP is the address of the client, empty if it is not known.
	ClientIP string
	// Headers gives the visible request headers by lower-case name.
	Headers func() map[string]string
	// Arguments and Annotations give JSON objects, empty if there is none.
	Arguments, Annotations func() ([]byte, error)
}

// activation looks variables up, each when it is needed, and makes each once:
// a loop asks for them again and again.
type activation struct {
	in                              Input
	arguments, annotations, headers any
}

// Parent implements interpreter.Activation.
func (*activation) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	in := &a.in
	switch name {
	case varIssuer:
		return in.Issuer, true
	case varSubject:
		return in.Subject, true
	case varTenant:
		return in.Tenant, true
	case varClientID:
		return in.ClientID, true
	case varScopes:
		return in.Scopes, true
	case varRoles:
		if in.Roles == nil {
			return []string{}, true
		}
		roles, err := in.Roles()
		if err != nil {
			return unknown(name, err), true
		}
		return roles, true
	case varClaims:
		return in.Claims, true
	case varMethod:
		return in.Method, true
	case varName:
		return in.Name, true
	case varArguments:
		return once(&a.arguments, func() any { return object(name, in.Arguments) }), true
	case varAnnotations:
		return once(&a.annotations, func() any { return object(name, in.Annotations) }), true
	case varHeaders:
		if in.Headers == nil {
			return unknown(name, errors.New("there is no request")), true
		}
		return once(&a.headers, func() any { return in.Headers() }), true
	case varClientIP:
		if in.ClientIP == "" {
			return unknown(name, errors.New("the client's address is not known")), true
		}
		return in.ClientIP, true
	}
	return nil, false
}

func once(value *any, make func() any) any {
	if *value == nil {
		*value = make()
	}
	return *value
}

// object decodes what a function of Input gives.
func object(name string, get func() ([]byte, error)) any {
	if get == nil {
		return unknown(name, errors.New("there is none"))
	}
	raw, err := get()
	switch {
	case err != nil:
		return unknown(name, err)
	case len(raw) == 0:
		return map[string]any{}
	case len(raw) > MaxArguments:
		return unknown(name, fmt.Errorf("larger than %d bytes", MaxArguments))
	}
	decoded, err := strict.Object(raw)
	if err != nil {
		return unknown(name, err)
	}
	return decoded
}

// unknown is the CEL value that makes whatever needs it fail.
func unknown(name string, err error) any { return types.WrapErr(fmt.Errorf("%s: %w", name, err)) }
