package openai

import "github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"

// Security is what a tool needs before it can be called.
type Security struct {
	// Anonymous says that the tool works without a login.
	Anonymous bool
	// OAuth says that a token is of use; Scopes are those it needs.
	OAuth  bool
	Scopes []string
}

// SecuritySchemes writes securitySchemes into a tool of a tools/list, at the top
// level, where ChatGPT looks first, and in _meta, where others do. What the
// server says itself is replaced: it does not know who guards it. (Apps SDK
// reference, tool descriptor.)
func SecuritySchemes(tool rawjson.Value, s Security) (rawjson.Value, error) {
	var schemes []rawjson.Value
	if s.Anonymous {
		schemes = append(schemes, rawjson.Value(`{"type":"noauth"}`))
	}
	if s.OAuth {
		scheme := rawjson.Value(`{"type":"oauth2"}`)
		if len(s.Scopes) > 0 {
			scopes := make([]rawjson.Value, len(s.Scopes))
			for i, scope := range s.Scopes {
				scopes[i] = rawjson.Quote(scope)
			}
			// Setting a member of an object literal cannot fail.
			scheme, _ = scheme.Set(rawjson.ArrayOf(scopes...), "scopes")
		}
		schemes = append(schemes, scheme)
	}
	value := rawjson.ArrayOf(schemes...)
	tool, err := tool.Set(value, "securitySchemes")
	if err != nil {
		return nil, err
	}
	return tool.Set(value, "_meta", "securitySchemes")
}
