package mcp

import (
	"bytes"
	"errors"
	"fmt"
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
	// Entry gets one element of a resources/list result.
	Entry(entry rawjson.Value) rawjson.Value
	// Content gets one element of the contents of a resources/read result.
	Content(item rawjson.Value) rawjson.Value
	// Result gets the whole result of a call, after filtering. Its error
	// withholds the message.
	Result(result rawjson.Value) (rawjson.Value, error)
	// Task is Result for what the state of a task holds: the result of the call
	// that made it, or what it asks. id is the server's own.
	Task(id string, result rawjson.Value) (rawjson.Value, error)
	// Capabilities gets the capabilities of an initialize or server/discover
	// result.
	Capabilities(era Era, capabilities rawjson.Value) rawjson.Value
}

// Watcher is told of what passes a [Rewriter].
type Watcher interface {
	// Dropped is told what Content has removed.
	Dropped(uri string)
	// Asked is shown each request and notification of the server to the client
	// and returns what the client may get of it, nil for nothing.
	Asked(request rawjson.Value) rawjson.Value
	// ListChanged is called when the server says that its tools changed.
	ListChanged()
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
	// Seal, if set, makes cursors usable by the caller only.
	Seal func(cursor string) string
	// SealTask, if set, makes a task's id usable by the caller only, and
	// reports whether the caller may get what says this of the task.
	SealTask func(id string, said TaskSaid) (sealed string, shown bool)
	// Next, if set, fetches the result of the page under a cursor. It is asked
	// where a page became empty by filtering, since simple clients take an
	// empty first page for the end (openai-agents-python 4085).
	Next func(cursor string) (rawjson.Value, error)
	// Content also filters resource links and embedded resources in results.
	Content bool
	// Tasks says that task methods are open. Otherwise the tasks capability is
	// withheld, since what it promises is refused.
	Tasks bool
	// Watch, if set, is shown what passes besides names.
	Watch Watcher
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
	e, variant := openEnvelope(v)
	if variant != "" {
		return nil, fmt.Errorf("%w: member %q is a case variant", ErrUnfilterable, variant)
	}
	if e.method.Exists() {
		return w.serverMessage(v, e)
	}
	if e.result.Kind() != rawjson.Object {
		return message, nil
	}
	rewritten, err := w.result(e.result)
	switch {
	case err != nil:
		return nil, err
	case rewritten.Is(e.result):
		return message, nil
	default:
		return replaceIfChanged(v, e.result, rewritten, "result")
	}
}

// serverMessage treats a notification or request of the server.
func (w *Rewriter) serverMessage(v rawjson.Value, e envelope) ([]byte, error) {
	if e.result.Exists() {
		return nil, fmt.Errorf("%w: both a request and a response", ErrUnfilterable)
	}
	if !w.showsNotification(e) {
		return nil, nil
	}
	params := e.params
	if w.Watch != nil {
		if v = w.Watch.Asked(v); v == nil {
			return nil, nil
		}
		params = v.Get("params")
	}
	sealed, shown, err := w.sealServerTasks(e, params)
	if err != nil || !shown {
		return nil, err
	}
	return replaceIfChanged(v, params, sealed, "params")
}

// showsNotification keeps updates of hidden resources from the caller.
func (w *Rewriter) showsNotification(e envelope) bool {
	switch method, _ := e.method.Text(); method {
	case "notifications/resources/updated":
		uri, ok := e.params.Get("uri").Text()
		return ok && w.Shower.ShowsResource(uri)
	case "notifications/tools/list_changed":
		if w.Watch != nil {
			w.Watch.ListChanged()
		}
	}
	return true
}

func (w *Rewriter) result(result rawjson.Value) (rawjson.Value, error) {
	members, variant := openResult(result)
	if variant != "" {
		return nil, fmt.Errorf("%w: result member %q is a case variant", ErrUnfilterable, variant)
	}
	given := result
	result, cacheable, err := w.filterLists(result, &members)
	if err != nil {
		return nil, err
	}
	if capabilities := members[capabilitiesMember]; capabilities.Kind() == rawjson.Object && members.isHandshake() {
		cacheable = members[supportedVersionsMember].Exists()
		if result, err = replaceIfChanged(result, capabilities, w.capabilities(capabilities), "capabilities"); err != nil {
			return nil, err
		}
	}
	if result, err = w.filterContent(result, &members); err != nil {
		return nil, err
	}
	if result, err = w.Decorate.Result(result); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfilterable, err)
	}
	if result, err = w.filterTask(result); err != nil {
		return nil, err
	}
	if result, err = w.sealTasks(result); err != nil {
		return nil, err
	}
	if !result.Is(given) {
		members, _ = openResult(result)
	}
	return w.cacheHints(result, &members, cacheable)
}

// capabilities decorates the capabilities of a handshake.
func (w *Rewriter) capabilities(capabilities rawjson.Value) rawjson.Value {
	if !w.Tasks {
		capabilities = capabilities.Delete("tasks").Delete("extensions", "io.modelcontextprotocol/tasks")
	}
	return w.Decorate.Capabilities(w.Era, capabilities)
}

func keepIfEqual(v rawjson.Value, want string) rawjson.Value {
	if string(v) == want {
		return v
	}
	return rawjson.Value(want)
}

// replaceIfChanged sets a member unless its value is still the same bytes.
func replaceIfChanged(object, before, after rawjson.Value, member string) (rawjson.Value, error) {
	if bytes.Equal(before, after) && before.Exists() == after.Exists() {
		return object, nil
	}
	if changed, ok := object.Replace(before, after); ok {
		return changed, nil
	}
	changed, err := object.Set(after, member)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfilterable, err)
	}
	return changed, nil
}
