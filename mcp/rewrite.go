package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// ErrUnfilterable is wrapped by every refusal of [Rewriter.Message]: the message
// might be understood by some client as something that has to be filtered, and
// cannot be. It must be replaced by an error, never passed on.
var ErrUnfilterable = errors.New("message cannot be filtered")

// Shower says which names the caller may see. All four are asked for names as
// the server writes them.
type Shower interface {
	ShowsTool(name string) bool
	ShowsPrompt(name string) bool
	ShowsResource(uri string) bool
	ShowsTemplate(uriTemplate string) bool
}

// Decorator adds metadata to what the caller may see. Each method returns its
// argument where nothing is to be added. The error of a method withholds the
// message.
type Decorator interface {
	// Tool gets one element of a tools/list result.
	Tool(tool rawjson.Value) rawjson.Value
	// Content gets one element of the contents of a resources/read result.
	Content(item rawjson.Value) rawjson.Value
	// Capabilities gets the capabilities of an initialize or server/discover
	// result.
	Capabilities(era Era, capabilities rawjson.Value) rawjson.Value
}

// Rewriter filters and decorates the messages of one answer or stream. It works
// by the shape of a message, not by remembered ids: the answer to tools/list
// may arrive on a resumed stream, where nothing says what was asked.
type Rewriter struct {
	Era      Era
	Shower   Shower
	Decorate Decorator
	// ListTTL caps the ttlMs cache hint.
	ListTTL time.Duration
	// ListChanged, if set, is called when the server says that its tools changed.
	ListChanged func()
	// MaxDepth bounds the nesting of a message; 0 means [DefaultDepth].
	MaxDepth int
}

// Message returns what the client may get of one message: the same bytes if
// nothing had to change, nil if the whole message is to be dropped. Errors wrap
// [ErrUnfilterable].
func (w *Rewriter) Message(message []byte) ([]byte, error) {
	depth := w.MaxDepth
	if depth == 0 {
		depth = DefaultDepth
	}
	v, err := rawjson.ParseLenient(message, depth)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfilterable, err)
	}
	if v.Kind() != rawjson.Object {
		return nil, fmt.Errorf("%w: not a JSON object", ErrUnfilterable)
	}
	if name := caseVariant(v, envelopeMembers); name != "" {
		return nil, fmt.Errorf("%w: member %q is a case variant", ErrUnfilterable, name)
	}
	if v.Get("method").Exists() && !w.showsNotification(v) {
		return nil, nil
	}
	result := v.Get("result")
	if result.Kind() != rawjson.Object {
		return message, nil
	}
	rewritten, err := w.result(result)
	if err != nil {
		return nil, err
	}
	if len(rewritten) == len(result) && &rewritten[0] == &result[0] {
		return message, nil
	}
	return v.Set(rewritten, "result")
}

// showsNotification keeps updates of hidden resources from the caller.
func (w *Rewriter) showsNotification(v rawjson.Value) bool {
	switch method, _ := v.Get("method").Text(); method {
	case "notifications/resources/updated":
		uri, ok := v.Get("params", "uri").Text()
		return ok && w.Shower.ShowsResource(uri)
	case "notifications/tools/list_changed":
		if w.ListChanged != nil {
			w.ListChanged()
		}
	}
	return true
}

// Members of results that decide what a client takes them for.
var resultMembers = []string{
	"tools", "prompts", "resources", "resourceTemplates", "contents", "capabilities", "nextCursor",
	"protocolVersion", "supportedVersions", "resultType", "ttlMs", "cacheScope",
}

func (w *Rewriter) result(result rawjson.Value) (rawjson.Value, error) {
	if name := caseVariant(result, resultMembers); name != "" {
		return nil, fmt.Errorf("%w: result member %q is a case variant", ErrUnfilterable, name)
	}
	cacheable := false
	for _, list := range w.lists() {
		elements := result.Get(list.member)
		if !elements.Exists() || elements.Kind() == rawjson.Null {
			continue
		}
		if elements.Kind() != rawjson.Array {
			return nil, fmt.Errorf("%w: result member %q is not an array", ErrUnfilterable, list.member)
		}
		cacheable = true
		var err error
		if result, err = replaceIfChanged(result, elements, elements.MapElements(list.element), list.member); err != nil {
			return nil, err
		}
	}
	if capabilities := result.Get("capabilities"); capabilities.Kind() == rawjson.Object && isHandshake(result) {
		cacheable = result.Get("supportedVersions").Exists()
		var err error
		if result, err = replaceIfChanged(result, capabilities, w.Decorate.Capabilities(w.Era, capabilities), "capabilities"); err != nil {
			return nil, err
		}
	}
	return w.cacheHints(result, cacheable)
}

// elementList is one list of a result and what happens to its elements.
type elementList struct {
	member  string
	element func(rawjson.Value) (rawjson.Value, bool)
}

func (w *Rewriter) lists() []elementList {
	show := func(member string, shows func(string) bool) func(rawjson.Value) (rawjson.Value, bool) {
		return func(e rawjson.Value) (rawjson.Value, bool) {
			name, ok := elementName(e, member)
			return e, ok && shows(name)
		}
	}
	return []elementList{
		{"tools", func(e rawjson.Value) (rawjson.Value, bool) {
			name, ok := elementName(e, "name")
			if !ok || !w.Shower.ShowsTool(name) {
				return nil, false
			}
			return w.Decorate.Tool(e), true
		}},
		{"prompts", show("name", w.Shower.ShowsPrompt)},
		{"resources", show("uri", w.Shower.ShowsResource)},
		{"resourceTemplates", show("uriTemplate", w.Shower.ShowsTemplate)},
		{"contents", func(e rawjson.Value) (rawjson.Value, bool) {
			if e.Kind() != rawjson.Object {
				return e, true
			}
			return w.Decorate.Content(e), true
		}},
	}
}

// elementName returns the name under which a list element is judged. Elements
// that a client could read in two ways have none and are left out.
func elementName(e rawjson.Value, member string) (string, bool) {
	if e.Kind() != rawjson.Object {
		return "", false
	}
	for name := range e.Members() {
		if name != member && strings.EqualFold(name, member) {
			return "", false
		}
	}
	return e.Get(member).Text()
}

// isHandshake tells results of initialize and server/discover from results
// that merely have a member called capabilities.
func isHandshake(result rawjson.Value) bool {
	return result.Get("protocolVersion").Exists() || result.Get("supportedVersions").Exists()
}

// cacheHints makes an answer that depends on the caller private (MCP
// 2026-07-28, server/utilities/caching). All pages get the same scope, whether
// or not this one lost an element. Legacy answers only have existing hints
// corrected, since their schema has none.
func (w *Rewriter) cacheHints(result rawjson.Value, cacheable bool) (rawjson.Value, error) {
	scope, ttl := result.Get("cacheScope"), result.Get("ttlMs")
	kind, _ := result.Get("resultType").Text()
	complete := kind == "" || kind == "complete"
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

func keepIfEqual(v rawjson.Value, want string) rawjson.Value {
	if string(v) == want {
		return v
	}
	return rawjson.Value(want)
}

// replaceIfChanged sets a member unless its value is still the same bytes.
func replaceIfChanged(object, before, after rawjson.Value, member string) (rawjson.Value, error) {
	if before.Exists() && slices.Equal(before, after) {
		return object, nil
	}
	changed, err := object.Set(after, member)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfilterable, err)
	}
	return changed, nil
}
