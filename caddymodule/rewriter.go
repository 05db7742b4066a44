package caddymodule

import (
	"strings"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// newRewriter wires the rewriting of this exchange's answer.
func (e *exchange) newRewriter(decorator *openaiView) mcp.Rewriter {
	rewriter := mcp.Rewriter{
		Era:      e.era(),
		Shower:   e.view,
		Decorate: decorator,
		Next:     e.nextPage(),
		Content:  e.filtersContent(),
		Tasks:    e.servesTasks(),
		Watch:    (*watcher)(e),
		ListTTL:  e.limits.listTTL,
		MaxDepth: e.limits.depth,
	}
	if !e.view.HidesNothing() {
		rewriter.Seal = func(cursor string) string { return e.sealer.Seal(mcp.PurposeCursor, e.holder(), cursor) }
	}
	if e.servesTasks() {
		rewriter.SealTask = e.sealTask
	}
	return rewriter
}

// watcher is an exchange as mcp.Watcher.
type watcher exchange

// Dropped implements mcp.Watcher.
func (w *watcher) Dropped(uri string) { (*exchange)(w).linkDropped(uri) }

// Asked implements mcp.Watcher.
func (w *watcher) Asked(request rawjson.Value) rawjson.Value {
	return (*exchange)(w).checkServerRequest(request)
}

// ListChanged forgets what the server listed before.
func (w *watcher) ListChanged() {
	w.catalogs.Drop()
	w.inventories.Drop()
}

// filtersContent reports whether links to resources in results are held to the
// rules.
func (e *exchange) filtersContent() bool {
	return e.Policy.Results != policy.Pass && !e.view.HidesNothing()
}

// linkDropped tells the operator why something is missing in a result.
func (e *exchange) linkDropped(uri string) {
	if e.warned.first("link " + uri) {
		e.logger.Warn("resource left out of a result", zap.String("uri", uri), zap.String("tool", e.toolName()),
			zap.String("fix", "if callers may read it, write in policy: resource "+uri+" (or a pattern); if all links shall pass: results pass"))
	}
}

// nextPage fetches further pages for a client that asked for the first one.
func (e *exchange) nextPage() func(cursor string) (rawjson.Value, error) {
	if e.message == nil || !strings.HasSuffix(e.message.Method, "/list") || e.message.Params.Get("cursor").Exists() {
		return nil
	}
	return func(cursor string) (rawjson.Value, error) {
		return mcp.AskPage(e.r.Context(), e.questions().exchange, e.message, e.questions().template().Header, cursor)
	}
}
