package mcp

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
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
}

// metaVersion is where a modern request repeats the protocol revision.
var metaVersion = []string{"_meta", "io.modelcontextprotocol/protocolVersion"}

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
	if id := v.Get("id"); ValidID(id) {
		r.ID = id
	}
	if err := r.readEnvelope(); err != nil {
		return nil, err
	}
	if err := r.readEra(h); err != nil {
		return nil, err
	}
	if r.Kind == Response {
		return r, nil
	}
	if !known(r.Era, r.Method) {
		return nil, MethodNotFound(r)
	}
	if err := r.readName(); err != nil {
		return nil, err
	}
	if r.Era == Modern {
		if err := r.checkModern(h); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readEnvelope checks the JSON-RPC members and finds out what is asked.
func (r *Request) readEnvelope() error {
	refuse := func(format string, args ...any) error {
		return invalid(http.StatusBadRequest, CodeInvalidRequest, r.ID, "Invalid request: "+format, args...)
	}
	if name := caseVariant(r.Body, envelopeMembers); name != "" {
		return refuse("member names are case-sensitive")
	}
	if version, _ := r.Body.Get("jsonrpc").Text(); version != "2.0" {
		return refuse(`jsonrpc must be "2.0"`)
	}
	id, method := r.Body.Get("id"), r.Body.Get("method")
	if id.Exists() && !ValidID(id) {
		return refuse("id must be a string or an integer")
	}
	answer := r.Body.Get("result").Exists() || r.Body.Get("error").Exists()
	switch {
	case method.Exists() && answer:
		return refuse("both a request and a response")
	case method.Exists():
		text, ok := method.Text()
		if !ok || text == "" {
			return refuse("method must be a string")
		}
		if r.Method = text; !id.Exists() {
			r.Kind = Notification
		}
	case answer && id.Exists():
		r.Kind = Response
		return nil
	default:
		return refuse("neither a request nor a response")
	}
	r.Params = r.Body.Get("params")
	if r.Params.Exists() && r.Params.Kind() != rawjson.Object {
		return refuse("params must be an object")
	}
	if name := caseVariant(r.Params, paramsMembers); name != "" {
		return refuse("member names are case-sensitive")
	}
	for _, member := range []string{"_meta", "ref"} {
		if inner := r.Params.Get(member); inner.Exists() && inner.Kind() != rawjson.Object {
			return refuse("%s must be an object", member)
		}
	}
	if name := caseVariant(r.Params.Get("_meta"), metaMembers); name != "" {
		return refuse("member names are case-sensitive")
	}
	for member, known := range map[string][]string{"ref": refMembers, "notifications": listenMembers} {
		if name := caseVariant(r.Params.Get(member), known); name != "" {
			return refuse("member names are case-sensitive")
		}
	}
	return nil
}

// readName finds what the message is about. A method that is about a name must
// have one: without it the upstream and the policy would judge different things.
func (r *Request) readName() error {
	var path []string
	switch Subject(r.Method) {
	case SubjectNone:
		return nil
	case SubjectTool, SubjectPrompt:
		path = []string{"name"}
	case SubjectResource:
		path = []string{"uri"}
	case SubjectTask:
		path = []string{"taskId"}
	case SubjectReference:
		path = []string{"ref", "name"}
		if kind, _ := r.Params.Get("ref", "type").Text(); kind == "ref/resource" {
			path = []string{"ref", "uri"}
		}
	}
	name, ok := r.Params.Get(path...).Text()
	if !ok {
		return invalid(http.StatusBadRequest, CodeInvalidParams, r.ID, "Invalid params: %s must be a string", strings.Join(path, "."))
	}
	r.Name = name
	return nil
}

// readEra classifies the message: modern if its body or its header says so, and
// then both must say the same (MCP 2026-07-28, basic/versioning).
func (r *Request) readEra(h http.Header) error {
	header := trimOWS(h.Get(HeaderVersion))
	meta := r.Params.Get(metaVersion...)
	claimed, ok := meta.Text()
	switch {
	case !meta.Exists():
		r.Version, r.Era = header, EraOf(header)
	case !ok:
		return invalid(http.StatusBadRequest, CodeInvalidParams, r.ID, "Invalid params: the protocol version in _meta must be a string")
	case header != claimed:
		return invalid(http.StatusBadRequest, CodeHeaderMismatch, r.ID, "Header mismatch: %s differs from the body", HeaderVersion)
	default:
		r.Version, r.Era = claimed, Modern
	}
	if r.Era == Modern && r.Kind == Response {
		return invalid(http.StatusBadRequest, CodeInvalidRequest, nil, "Invalid request: clients send no responses in this revision")
	}
	return nil
}

// checkModern checks what a modern request must carry besides its era.
func (r *Request) checkModern(h http.Header) error {
	if err := r.checkMirrors(h); err != nil {
		return err
	}
	// Notifications carry no version in their body by the schema.
	if r.Kind == Call && !r.Params.Get(metaVersion...).Exists() {
		return invalid(http.StatusBadRequest, CodeInvalidParams, r.ID, "Invalid params: _meta lacks the protocol version")
	}
	return nil
}

// Members that the gateway or an upstream reads by name. A member that differs
// from one of these only in case is refused: some JSON readers fold case, and
// then the policy would judge one value and the upstream run another.
var (
	envelopeMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsMembers   = []string{
		"name", "arguments", "uri", "cursor", "ref", "argument", "context", "_meta", "protocolVersion", "capabilities",
		"clientInfo", "level", "requestId", "taskId", "task", "notifications", "inputResponses", "requestState",
	}
	metaMembers = []string{
		"progressToken", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
		"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel", "openai/resource",
	}
	refMembers    = []string{"type", "name", "uri"}
	listenMembers = []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"}
)

// caseVariant returns a member of v that differs from a known one only in case.
func caseVariant(v rawjson.Value, known []string) string {
	for name := range v.Members() {
		if slices.Contains(known, name) {
			continue
		}
		for _, k := range known {
			if strings.EqualFold(name, k) {
				return name
			}
		}
	}
	return ""
}

// ValidID reports whether id is a string or an integer in plain digits
// (MCP 2026-07-28, basic "Requests").
func ValidID(id rawjson.Value) bool {
	return id.Kind() == rawjson.String || id.Kind() == rawjson.Number && !strings.ContainsAny(string(id), ".eE")
}
