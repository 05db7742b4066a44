package mcp

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// DefaultDepth bounds how deep a message may nest.
const DefaultDepth = 64

// MessageKind tells the three JSON-RPC messages apart.
type MessageKind int

// The kinds of messages a client sends.
const (
	Call         MessageKind = iota // has a method and an id
	Notification                    // has a method and no id
	Response                        // answers a request of the server (legacy only)
)

// Request is one client message, read strictly. Body holds the original bytes;
// they are unambiguous, so forwarding them is safe.
type Request struct {
	Body    rawjson.Value
	Kind    MessageKind
	Era     Era
	Version string        // protocol revision the message claims, "" if it names none
	Method  string        // empty for a Response
	ID      rawjson.Value // raw bytes of the id, nil for a Notification
	Params  rawjson.Value // object, or nil
	// Name is what the message is about: params.name, params.uri, or the name or
	// URI of params.ref, depending on the method; empty where a method has none.
	Name string

	// What reading has found in these very Params.
	read struct {
		params    bool // they were read
		task      bool // a member may name a task
		arguments rawjson.Value
	}
}

// Arguments returns the arguments of a tool call.
func (r *Request) Arguments() rawjson.Value {
	if r.read.params {
		return r.read.arguments
	}
	return r.Params.Get("arguments")
}

// mayNameTask reports whether a member of the parameters may name a task.
func (r *Request) mayNameTask() bool { return !r.read.params || r.read.task }

// Reader reads client messages. The zero value knows the methods of the protocol
// and [DefaultDepth].
type Reader struct {
	// MaxDepth bounds the nesting of a message; 0 means [DefaultDepth].
	MaxDepth int
	// Known reports whether a method may be sent; nil means [Known].
	Known func(Era, string) bool
}

// Read reads the body of a POST. It refuses whatever two readers could
// understand differently: batches, repeated or case-variant members, trailing
// bytes, bad UTF-8, too deep nesting, ids that are neither strings nor
// integers. Methods that are not known are refused next, before anything about
// their parameters is judged. In the modern era the mirrored headers must agree with the body
// (MCP 2026-07-28, transports/streamable-http "Server Validation"). Errors are
// *[Error].
func (c Reader) Read(h http.Header, body []byte) (*Request, error) {
	maxDepth, known := cmp.Or(c.MaxDepth, DefaultDepth), c.Known
	if known == nil {
		known = Known
	}
	if err := singleHeaders(h); err != nil {
		return nil, err
	}
	v, err := rawjson.Parse(body, maxDepth)
	switch {
	case errors.Is(err, rawjson.ErrTooDeep):
		return nil, invalid(http.StatusBadRequest, CodeInvalidRequest, nil, "Invalid request: nested deeper than %d levels", maxDepth)
	case err != nil:
		return nil, invalid(http.StatusBadRequest, CodeParseError, nil, "Parse error: not one strict JSON object")
	case v.Kind() == rawjson.Array:
		return nil, invalid(http.StatusBadRequest, CodeInvalidRequest, nil, "Invalid request: batches are not supported")
	case v.Kind() != rawjson.Object:
		return nil, invalid(http.StatusBadRequest, CodeInvalidRequest, nil, "Invalid request: not an object")
	}
	r := &Request{Body: v}
	params, err := r.readEnvelope()
	if err != nil {
		return nil, err
	}
	if err := r.readEra(h, params.version); err != nil {
		return nil, err
	}
	if r.Kind == Response {
		return r, nil
	}
	if !known(r.Era, r.Method) {
		return nil, MethodNotFound(r)
	}
	if err := r.readName(params); err != nil {
		return nil, err
	}
	if r.Era == Modern {
		if err := r.checkModern(h, params.version); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readEnvelope checks the JSON-RPC members and finds out what is asked.
func (r *Request) readEnvelope() (parameters, error) {
	e, variant := openEnvelope(r.Body)
	if ValidID(e.id) {
		r.ID = e.id
	}
	refuse := func(format string, args ...any) (parameters, error) {
		return parameters{}, invalid(http.StatusBadRequest, CodeInvalidRequest, r.ID, "Invalid request: "+format, args...)
	}
	const caseSensitive = "member names are case-sensitive"
	if variant != "" {
		return refuse(caseSensitive)
	}
	if !e.version.TextIs("2.0") {
		return refuse(`jsonrpc must be "2.0"`)
	}
	if e.id.Exists() && r.ID == nil {
		return refuse("id must be a string or an integer")
	}
	answer := e.result.Exists() || e.failure.Exists()
	switch {
	case e.method.Exists() && answer:
		return refuse("both a request and a response")
	case e.method.Exists():
		text, ok := methodText(e.method)
		if !ok || text == "" {
			return refuse("method must be a string")
		}
		if r.Method = text; !e.id.Exists() {
			r.Kind = Notification
		}
	case answer && e.id.Exists():
		r.Kind = Response
		return parameters{}, nil
	default:
		return refuse("neither a request nor a response")
	}
	r.Params = e.params
	if r.Params.Exists() && r.Params.Kind() != rawjson.Object {
		return refuse("params must be an object")
	}
	p, variant := openParameters(r.Params)
	if variant != "" {
		return refuse(caseSensitive)
	}
	r.read.params, r.read.task, r.read.arguments = true, p.task, p.arguments
	for _, inner := range []struct {
		name  string
		value rawjson.Value
	}{{"_meta", p.meta}, {"ref", p.ref}} {
		if inner.value.Exists() && inner.value.Kind() != rawjson.Object {
			return refuse("%s must be an object", inner.name)
		}
	}
	return p, nil
}

// readName finds what the message is about. A method that is about a name must
// have one: without it the upstream and the policy would judge different things.
func (r *Request) readName(p parameters) error {
	var where string
	var value rawjson.Value
	switch Subject(r.Method) {
	case SubjectNone:
		return nil
	case SubjectTool, SubjectPrompt:
		where, value = "name", p.name
	case SubjectResource:
		where, value = "uri", p.uri
	case SubjectTask:
		where, value = "taskId", p.taskID
	case SubjectReference:
		// Servers differ in whether they go by the type or by what is there.
		var other rawjson.Value
		switch kind, _ := p.ref.Get("type").Text(); kind {
		case "ref/prompt":
			where, value, other = "ref.name", p.ref.Get("name"), p.ref.Get("uri")
		case "ref/resource":
			where, value, other = "ref.uri", p.ref.Get("uri"), p.ref.Get("name")
		default:
			return invalid(http.StatusBadRequest, CodeInvalidParams, r.ID, "Invalid params: ref.type must be ref/prompt or ref/resource")
		}
		if other.Exists() {
			return invalid(http.StatusBadRequest, CodeInvalidParams, r.ID, "Invalid params: ref names two things")
		}
	}
	name, ok := value.Text()
	if !ok {
		return invalid(http.StatusBadRequest, CodeInvalidParams, r.ID, "Invalid params: %s must be a string", where)
	}
	r.Name = name
	return nil
}

// readEra classifies the message: modern if its body or its header says so, and
// then both must say the same (MCP 2026-07-28, basic/versioning).
func (r *Request) readEra(h http.Header, meta rawjson.Value) error {
	header := trimOWS(h.Get(HeaderVersion))
	switch {
	case !meta.Exists():
		r.Version, r.Era = header, EraOf(header)
	case meta.Kind() != rawjson.String:
		return invalid(http.StatusBadRequest, CodeInvalidParams, r.ID, "Invalid params: the protocol version in _meta must be a string")
	case !meta.TextIs(header):
		return invalid(http.StatusBadRequest, CodeHeaderMismatch, r.ID, "Header mismatch: %s differs from the body", HeaderVersion)
	default:
		r.Version, r.Era = header, Modern
	}
	if r.Era == Legacy && header >= FirstModernVersion {
		// No revision is named like this, and servers that compare text would take
		// it for a modern one.
		return invalid(http.StatusBadRequest, CodeInvalidRequest, r.ID, "Invalid request: %s is no revision", HeaderVersion)
	}
	if r.Era == Modern && r.Kind == Response {
		return invalid(http.StatusBadRequest, CodeInvalidRequest, nil, "Invalid request: clients send no responses in this revision")
	}
	return nil
}

// checkModern checks what a modern request must carry besides its era.
func (r *Request) checkModern(h http.Header, version rawjson.Value) error {
	if err := r.checkMirrors(h); err != nil {
		return err
	}
	// Notifications carry no version in their body by the schema.
	if r.Kind == Call && !version.Exists() {
		return invalid(http.StatusBadRequest, CodeInvalidParams, r.ID, "Invalid params: _meta lacks the protocol version")
	}
	return nil
}

// ValidID reports whether id is a string or an integer in plain digits
// (MCP 2026-07-28, basic "Requests").
func ValidID(id rawjson.Value) bool {
	return id.Kind() == rawjson.String || id.Kind() == rawjson.Number && !strings.ContainsAny(string(id), ".eE")
}
