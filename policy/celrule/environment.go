package celrule

import (
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

// The variables. Fields are variables of their own with a dot in the name, so
// that a misspelt one is an error at load and unused ones cost nothing.
const (
	varIssuer      = "principal.issuer"
	varSubject     = "principal.subject"
	varTenant      = "principal.tenant"
	varClientID    = "principal.client_id"
	varScopes      = "principal.scopes"
	varRoles       = "principal.roles"
	varClaims      = "claims"
	varMethod      = "request.method"
	varName        = "request.name"
	varArguments   = "request.arguments"
	varAnnotations = "request.annotations"
	varHeaders     = "request.headers"
	varClientIP    = "request.client_ip"
)

var variables = []struct {
	name string
	kind *cel.Type
}{
	{varIssuer, cel.StringType},
	{varSubject, cel.StringType},
	{varTenant, cel.StringType},
	{varClientID, cel.StringType},
	{varScopes, cel.ListType(cel.StringType)},
	{varRoles, cel.ListType(cel.StringType)},
	{varClaims, cel.MapType(cel.StringType, cel.DynType)},
	{varMethod, cel.StringType},
	{varName, cel.StringType},
	{varArguments, cel.MapType(cel.StringType, cel.DynType)},
	{varAnnotations, cel.MapType(cel.StringType, cel.DynType)},
	{varHeaders, cel.MapType(cel.StringType, cel.StringType)},
	{varClientIP, cel.StringType},
}

// environment is CEL with our variables, the standard functions and those for
// network addresses, such as cidr('10.0.0.0/8').containsIP(request.client_ip).
var environment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		ext.Network(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxLength),
		cel.ParserRecursionLimit(64),
	}
	for _, v := range variables {
		options = append(options, cel.Variable(v.name, v.kind))
	}
	return cel.NewEnv(options...)
})

// fieldsOf lists the fields of principal or request.
func fieldsOf(object string) []string {
	var fields []string
	for _, v := range variables {
		if field, ok := strings.CutPrefix(v.name, object+"."); ok {
			fields = append(fields, field)
		}
	}
	return fields
}
