package openai

import (
	"errors"
	"fmt"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Form elicitation: a server asks the user to fill in a form, in one of two
// ways. Older clients get a request openai/elicitation/create; current ones get
// an input_required result in which the core form is empty and the real one
// stands in _meta. (Extensions, OpenAI Form Elicitation.)

const (
	keyElicitation      = "openai/elicitation"
	methodElicit        = "elicitation/create"
	methodElicitLegacy  = "openai/elicitation/create"
	resultInputRequired = "input_required"
)

// Bounds of a form.
const (
	maxFormFields  = 64
	maxFormOptions = 64
	maxFormItems   = 64
)

// ErrNoForms is wrapped where a form is for a client that does not show any.
var ErrNoForms = errors.New("the client does not show forms of OpenAI")

// FormContext is what a form is judged by.
type FormContext struct {
	// Modern tells that the caller speaks protocol 2026-07-28 or newer.
	Modern bool

	// Client is the client's capabilities object: of the session for older
	// clients, of the request for current ones.
	Client rawjson.Value

	// Visible reports whether the caller may see and call a tool. nil means
	// every tool.
	Visible func(tool string) bool

	// Readable reports whether the caller may read a resource of the server.
	// nil means every resource.
	Readable func(uri string) bool
}

func parseForms(mode string) (check bool, err error) {
	switch mode {
	case "", "pass":
		return false, nil
	case "check":
		return true, nil
	default:
		return false, fmt.Errorf("forms %q: write check or pass", mode)
	}
}

// ClientForms reads from a client's capabilities whether it can show core forms
// and whether it can show those of OpenAI. (Extensions, Capability
// Advertisement; in MCP an elicitation capability without members means forms.)
func ClientForms(capabilities rawjson.Value) (core, extended bool) {
	elicitation := capabilities.Get("elicitation")
	core = elicitation.Get("form").Kind() == rawjson.Object || elicitation.Kind() == rawjson.Object && elicitation.Len() == 0
	extended = capabilities.Get("extensions", keyElicitation, "form").Kind() == rawjson.Object
	return core, extended
}

// ServerRequest checks a request of the server to its client, if it asks for a
// form in the way of older clients. Every other request comes back unchanged,
// and so does this one with forms pass. An error means that the client must not
// get the request; it wraps [ErrNoForms] where the client never offered to
// answer such.
func (o *Overlay) ServerRequest(request rawjson.Value, c FormContext) (rawjson.Value, []Finding, error) {
	if method, _ := request.Get("method").Text(); !o.checkForms || method != methodElicitLegacy {
		return request, nil, nil
	}
	if c.Modern {
		return nil, nil, fmt.Errorf("%w: %s is for older ones; answer the call with input_required", ErrNoForms, methodElicitLegacy)
	}
	params := request.Get("params")
	checked, found, err := o.FormRequest(params, c)
	switch {
	case err != nil:
		return nil, nil, err
	case same(checked, params):
		return request, found, nil
	}
	request, err = request.Set(checked, "params")
	return request, found, err
}

// FormRequest checks the params of an openai/elicitation/create request to an
// older client, and takes out previews that lead to hidden tools. With forms
// pass everything comes back unchanged.
func (o *Overlay) FormRequest(params rawjson.Value, c FormContext) (rawjson.Value, []Finding, error) {
	if !o.checkForms {
		return params, nil, nil
	}
	if _, extended := ClientForms(c.Client); !extended {
		return nil, nil, ErrNoForms
	}
	if mode := params.Get("mode"); mode.Exists() {
		if text, _ := mode.Text(); text != "form" {
			return params, nil, nil // another kind of question, and not ours
		}
	}
	if message, _ := params.Get("message").Text(); !visibleMessage(message) {
		return nil, nil, errors.New("a form needs a message")
	}
	return o.checkFormAt(params, c, "requestedSchema")
}

// InputRequired checks the forms in an input_required result. Everything that
// is no form of OpenAI, requestState and keys included, stays untouched; a
// result of another type comes back as it is.
func (o *Overlay) InputRequired(result rawjson.Value, c FormContext) (rawjson.Value, []Finding, error) {
	if kind, _ := result.Get("resultType").Text(); !o.checkForms || kind != resultInputRequired {
		return result, nil, nil
	}
	core, extended := ClientForms(c.Client)
	var all []Finding
	requests := result.Get("inputRequests")
	if requests.Len() > maxFormFields {
		return nil, nil, fmt.Errorf("%w: more than %d questions in one result", ErrTooLarge, maxFormFields)
	}
	for key, request := range requests.Members() {
		method, _ := request.Get("method").Text()
		if method == methodElicitLegacy {
			return nil, nil, fmt.Errorf("input request %q: %s is for older clients: use %s", clip(key), method, methodElicit)
		}
		params := request.Get("params")
		if method != methodElicit || !params.Get("_meta", keyElicitation).Exists() {
			continue
		}
		if !core || !extended {
			return nil, nil, fmt.Errorf("input request %q: %w", clip(key), ErrNoForms)
		}
		if !equal(params.Get("requestedSchema"), rawjson.Value(`{"type":"object","properties":{}}`)) {
			return nil, nil, fmt.Errorf(`input request %q: the core requestedSchema must be {"type":"object","properties":{}}`, clip(key))
		}
		out, found, err := o.checkFormAt(params, c, "_meta", keyElicitation, "requestedSchema")
		if err != nil {
			return nil, nil, fmt.Errorf("input request %q: %w", clip(key), err)
		}
		all = append(all, found...)
		if !same(out, params) {
			if result, err = result.Set(out, "inputRequests", key, "params"); err != nil {
				return nil, nil, err
			}
		}
	}
	return result, all, nil
}

// checkFormAt checks the form schema at path.
func (o *Overlay) checkFormAt(params rawjson.Value, c FormContext, path ...string) (rawjson.Value, []Finding, error) {
	schema := params.Get(path...)
	if _, err := o.Form(schema); err != nil {
		return nil, nil, err
	}
	var found findings
	kept := c.hidePreviews(schema, &found)
	if same(kept, schema) {
		return params, found, nil
	}
	out, err := params.Set(kept, path...)
	return out, found, err
}

// hidePreviews takes out previews that would open a tool or a resource that the
// caller may not.
func (c FormContext) hidePreviews(schema rawjson.Value, found *findings) rawjson.Value {
	for name, field := range schema.Get("properties").Members() {
		options := field.Get("x-openai-input", "options")
		kept := options.MapElements(func(option rawjson.Value) (rawjson.Value, bool) {
			if c.opens(option.Get("_meta", "openai/preview", "target")) {
				return option, true
			}
			found.add("form-preview-hidden", name, "the preview was left out, because what it opens is not in this caller's catalog",
				"nothing, if the caller is meant not to see it; otherwise show it with a policy rule")
			return option.Delete("_meta", "openai/preview"), true
		})
		if !same(kept, options) {
			schema = must(schema.Set(kept, "properties", name, "x-openai-input", "options"))
		}
	}
	return schema
}

// opens reports whether the caller may open the target of a preview.
func (c FormContext) opens(target rawjson.Value) bool {
	switch kind, _ := target.Get("type").Text(); kind {
	case previewTool:
		name, _ := target.Get("name").Text()
		return c.Visible == nil || c.Visible(name)
	case "resource_link":
		uri, _ := target.Get("uri").Text()
		return c.Readable == nil || c.Readable(uri)
	default:
		return true
	}
}

// Form is a checked form, ready to check answers.
type Form struct {
	fields   map[string]formField
	required []string
}

// Form checks the schema of a form. One unsupported field makes the host show
// nothing of it, so one fails the whole.
func (o *Overlay) Form(schema rawjson.Value) (*Form, error) {
	if err := o.limits.checkSize(schema); err != nil {
		return nil, fmt.Errorf("form: %w", err)
	}
	if kind, _ := schema.Get("type").Text(); kind != "object" {
		return nil, errors.New(`form: type must be "object"`)
	}
	for keyword := range schema.Members() {
		switch keyword {
		case "type", "properties", "required", "additionalProperties":
		default:
			if !harmless(keyword) {
				return nil, fmt.Errorf("form: unsupported keyword %q", clip(keyword))
			}
		}
	}
	properties := schema.Get("properties")
	if properties.Kind() != rawjson.Object {
		return nil, errors.New("form: properties must be an object")
	}
	f := &Form{fields: make(map[string]formField)}
	for name, property := range properties.Members() {
		if len(f.fields) == maxFormFields {
			return nil, fmt.Errorf("%w: a form has at most %d fields", ErrTooLarge, maxFormFields)
		}
		if !visibleText(name, maxFieldName) {
			return nil, fmt.Errorf("form: field name %q must be visible text of at most %d characters", clip(name), maxFieldName)
		}
		field, err := o.limits.formField(property)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", clip(name), err)
		}
		f.fields[name] = field
	}
	if required := schema.Get("required"); required.Exists() {
		names, ok := texts(required)
		if !ok {
			return nil, errors.New("form: required must be an array of names")
		}
		for i, name := range names {
			if _, known := f.fields[name]; !known || slices.Contains(names[:i], name) {
				return nil, fmt.Errorf("form: required names %q, which is unknown or there twice", clip(name))
			}
		}
		f.required = names
	}
	return f, nil
}

// Answer checks what the user gave back: accept with content that fits every
// field, or decline or cancel without any.
func (f *Form) Answer(answer rawjson.Value) error {
	content := answer.Get("content")
	switch action, _ := answer.Get("action").Text(); action {
	case "accept":
	case "decline", "cancel":
		if content.Exists() && content.Len() > 0 {
			return fmt.Errorf("a form answer with the action %s carries no content", action)
		}
		return nil
	default:
		return fmt.Errorf("unknown form action %q", clip(action))
	}
	if content.Exists() && content.Kind() != rawjson.Object {
		return errors.New("the content of a form answer must be an object")
	}
	for name, value := range content.Members() {
		field, known := f.fields[name]
		if !known {
			return fmt.Errorf("unknown field %q", clip(name))
		}
		if err := field.check(value); err != nil {
			return fmt.Errorf("field %q: %w", clip(name), err)
		}
	}
	for _, name := range f.required {
		if !content.Get(name).Exists() {
			return fmt.Errorf("the required field %q is missing", clip(name))
		}
	}
	return nil
}
