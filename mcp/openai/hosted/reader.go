package hosted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxItems bounds the finished output items of a response.
const maxItems = mcp.MaxAnswerEvents

// reader takes the answer of the Responses API apart: a stream of events, or one
// whole response.
type reader struct {
	check    Check
	items    int
	streamed *Catalog // of a finished listing item
	final    *Catalog // of the response that ends it all
	tokens   int
	ended    bool
	failed   *discovery.Error // how the response ended otherwise
}

// errEnded stops reading.
var errEnded = errors.New("the response has ended")

// read reads the answer to its end. Events about progress are not a catalog: only
// a finished listing item is, or the response at the end.
func (c Check) read(body io.Reader, contentType string) (*Catalog, error) {
	r := &reader{check: c}
	body = io.LimitReader(body, mcp.MaxAnswerBytes+1)
	var err error
	if mcp.IsEventStream(contentType) {
		err = r.stream(body)
	} else {
		err = r.whole(body)
	}
	if err != nil {
		return nil, err
	}
	return r.catalog()
}

func (r *reader) whole(body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("reading the response: %w", err)
	}
	if len(text) > mcp.MaxAnswerBytes {
		return tooLarge("a response of more than %d MiB", mcp.MaxAnswerBytes>>20)
	}
	v, err := r.parse(text)
	if err != nil {
		return err
	}
	return r.response(v)
}

func (r *reader) stream(body io.Reader) error {
	splitter := mcp.Splitter{Limit: mcp.MaxAnswerEvent}
	buffer := make([]byte, 32<<10)
	total := 0
	for {
		n, err := body.Read(buffer)
		if total += n; total > mcp.MaxAnswerBytes {
			return tooLarge("a stream of more than %d MiB", mcp.MaxAnswerBytes>>20)
		}
		writeErr := splitter.Write(buffer[:n], r.event)
		if writeErr == nil && errors.Is(err, io.EOF) {
			writeErr = splitter.Close(r.event)
		}
		switch {
		case errors.Is(writeErr, errEnded):
			return nil
		case errors.Is(writeErr, mcp.ErrEventTooLarge):
			return tooLarge("an event of more than %d MiB", mcp.MaxAnswerEvent>>20)
		case writeErr != nil:
			return writeErr
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the stream: %w", err)
		}
	}
}

func (r *reader) event(e mcp.Event) error {
	data := bytes.TrimSpace(e.Data)
	if len(data) == 0 {
		return nil
	}
	if string(data) == "[DONE]" {
		return errEnded
	}
	v, err := r.parse(data)
	if err != nil {
		return err
	}
	kind, _ := v.Get("type").Text()
	switch {
	case kind == "response.output_item.added":
		return r.began(v.Get("item"))
	case kind == "response.output_item.done":
		r.streamed, err = r.item(v.Get("item"), r.streamed)
		return err
	case kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed":
		if err := r.response(v.Get("response")); err != nil {
			return err
		}
		return errEnded
	case kind == "error":
		// Some nest the error, some spread it over the event.
		fault := v.Get("error")
		if fault.Kind() != rawjson.Object {
			fault = v
		}
		r.failed = r.check.apiFailure(0, fault)
		return errEnded
	case strings.HasPrefix(kind, "response.mcp_call") || strings.HasPrefix(kind, "response.function_call"):
		return r.unexpected(kind)
	case strings.HasPrefix(kind, "response.mcp_list_tools."):
		r.check.progress("OpenAI: " + strings.TrimPrefix(kind, "response."))
	}
	return nil
}

// response reads the response that ends it all.
func (r *reader) response(v rawjson.Value) error {
	r.ended = true
	status, _ := v.Get("status").Text()
	r.tokens, _ = strconv.Atoi(string(v.Get("usage", "input_tokens")))
	var err error
	r.items = 0 // these are the same items once more
	for item := range v.Get("output").Elements() {
		if r.final, err = r.item(item, r.final); err != nil {
			return err
		}
	}
	if fault := v.Get("error"); status == "failed" || fault.Kind() == rawjson.Object {
		r.failed = r.check.apiFailure(0, fault)
	} else if status != "completed" && status != "incomplete" {
		return protocol("the response has the status %q", r.check.clean(status))
	}
	return nil
}

// began looks at an item that has only begun: it may already tell too much.
func (r *reader) began(item rawjson.Value) error {
	switch kind, _ := item.Get("type").Text(); kind {
	case "message", "reasoning", "mcp_list_tools":
		return nil
	default:
		return r.unexpected(kind)
	}
}

// item reads a finished item, and returns the catalog if it holds one, else the
// one before.
func (r *reader) item(item rawjson.Value, before *Catalog) (*Catalog, error) {
	if r.items++; r.items > maxItems {
		return nil, tooLarge("more than %d items", maxItems)
	}
	if err := r.began(item); err != nil {
		return nil, err
	}
	if kind, _ := item.Get("type").Text(); kind != "mcp_list_tools" {
		return before, nil
	}
	if label, _ := item.Get("server_label").Text(); label != r.check.label() {
		return nil, protocol("tools were listed for another server than was asked for")
	}
	if fault := item.Get("error"); fault.Exists() && fault.Kind() != rawjson.Null {
		return nil, r.check.listingFailure(fault)
	}
	if before != nil {
		return nil, protocol("tools were listed twice")
	}
	return r.tools(item.Get("tools"))
}

// tools reads the tools of a listing into the shape of MCP.
func (r *reader) tools(list rawjson.Value) (*Catalog, error) {
	if list.Kind() != rawjson.Array {
		return nil, malformed("the listing has no array of tools")
	}
	catalog := &Catalog{}
	seen := make(map[string]bool)
	for listed := range list.Elements() {
		name, ok := listed.Get("name").Text()
		shown := strconv.Quote(r.check.clean(name))
		switch {
		case !ok || name == "":
			return nil, malformed("a tool has no readable name")
		case seen[name]:
			return nil, malformed("tool %s is listed twice", shown)
		case len(seen) == mcp.DefaultMaxTools:
			return nil, tooLarge("more than %d tools", mcp.DefaultMaxTools)
		case listed.Get("input_schema").Kind() != rawjson.Object:
			return nil, malformed("tool %s has no input schema, or one that is no object", shown)
		}
		seen[name] = true
		tool := rawjson.Value("{}")
		// Setting members of an object literal cannot fail.
		tool, _ = tool.Set(listed.Get("name"), "name")
		if description := listed.Get("description"); description.Kind() == rawjson.String {
			tool, _ = tool.Set(description, "description")
		}
		tool, _ = tool.Set(listed.Get("input_schema"), "inputSchema")
		for _, spelling := range []string{"read_only", "readOnlyHint"} {
			if hint := listed.Get("annotations", spelling); hint.Kind() == rawjson.True || hint.Kind() == rawjson.False {
				tool, _ = tool.Set(hint, "annotations", "readOnlyHint")
			}
		}
		catalog.Tools = append(catalog.Tools, slices.Clone(tool))
	}
	return catalog, nil
}

// catalog is the outcome of an answer that was read to its end.
func (r *reader) catalog() (*Catalog, error) {
	catalog := r.final
	switch {
	case r.streamed != nil && r.final != nil && !slices.EqualFunc(r.streamed.Tools, r.final.Tools, sameTool):
		return nil, protocol("the listing in the stream and the one in the response differ")
	case catalog == nil:
		catalog = r.streamed
	}
	switch {
	case catalog != nil && r.failed != nil:
		catalog.Note = "the tools were listed, but the response failed afterwards: " + r.failed.Error()
	case catalog != nil:
	case r.failed != nil:
		return nil, r.failed
	case r.ended:
		return nil, noResult("OpenAI answered without listing any server")
	default:
		return nil, noResult("OpenAI told about its progress only")
	}
	catalog.InputTokens = r.tokens
	return catalog, nil
}

func sameTool(a, b rawjson.Value) bool {
	return bytes.Equal(discovery.Canonical(a), discovery.Canonical(b))
}

func (r *reader) parse(text []byte) (rawjson.Value, error) {
	v, err := rawjson.ParseLenient(slices.Clone(text), mcp.DefaultDepth+16) // our own levels around the schemas
	switch {
	case errors.Is(err, rawjson.ErrTooDeep):
		return nil, tooLarge("JSON nested deeper than %d levels", mcp.DefaultDepth+16)
	case err != nil:
		return nil, protocol("OpenAI's answer is no JSON")
	default:
		return v, nil
	}
}

func (r *reader) unexpected(kind string) error {
	return &discovery.Error{
		Class:  discovery.UnexpectedCall,
		Detail: fmt.Sprintf("OpenAI began %q although it was asked to list only; nothing was approved", r.check.clean(kind)),
	}
}
