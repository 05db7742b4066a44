package mcp

import (
	"strconv"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// cacheHints makes an answer that depends on the caller private (MCP
// 2026-07-28, server/utilities/caching). All pages get the same scope, whether
// or not this one lost an element. Legacy answers only have existing hints
// corrected, since their schema has none.
func (w *Rewriter) cacheHints(result rawjson.Value, m *resultValues, cacheable bool) (rawjson.Value, error) {
	scope, ttl := m[cacheScopeMember], m[ttlMsMember]
	kind := m[resultTypeMember]
	complete := kind.Kind() != rawjson.String || kind.TextIs("") || kind.TextIs("complete")
	insert := w.Era == Modern && cacheable && complete
	var err error
	if scope.Exists() || insert {
		if result, err = replaceIfChanged(result, scope, keepIfEqual(scope, `"private"`), "cacheScope"); err != nil {
			return nil, err
		}
	}
	if ttl.Exists() || insert {
		if result, err = replaceIfChanged(result, ttl, w.capTTL(ttl), "ttlMs"); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// capTTL lowers a hint to the cap and replaces anything but a whole number of
// milliseconds by 0, which asks for no caching.
func (w *Rewriter) capTTL(ttl rawjson.Value) rawjson.Value {
	hint, err := strconv.ParseInt(string(ttl), 10, 64)
	if err != nil || hint < 0 {
		hint = 0
	}
	return keepIfEqual(ttl, strconv.FormatInt(min(hint, w.ListTTL.Milliseconds()), 10))
}
