package openai

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Answers to forms come back in other requests than those that asked. What was
// asked is kept as one JSON object until then: the schema of each form of OpenAI
// by its key, null for every other question.

// ErrNotAsked is wrapped where a client answers what nobody asked.
var ErrNotAsked = errors.New("nothing of that was asked")

// ChecksForms reports whether forms and their answers are checked.
func (o *Overlay) ChecksForms() bool { return o.checkForms }

// FormAsked returns the schema of the form that a request of the server asks an
// older client to show, nil if it asks for none or with forms pass. The request
// has passed [Overlay.ServerRequest].
func (o *Overlay) FormAsked(request rawjson.Value) rawjson.Value {
	params := request.Get("params")
	method, _ := request.Get("method").Text()
	mode, given := params.Get("mode").Text()
	if !o.checkForms || method != methodElicitLegacy || given && mode != "form" {
		return nil
	}
	return params.Get("requestedSchema")
}

// Asked returns what an input_required result asks, nil if the result is another
// one or with forms pass. The result has passed [Overlay.InputRequired].
func (o *Overlay) Asked(result rawjson.Value) rawjson.Value {
	if kind, _ := result.Get("resultType").Text(); !o.checkForms || kind != resultInputRequired {
		return nil
	}
	asked := rawjson.Value("{}")
	for key, request := range result.Get("inputRequests").Members() {
		question := rawjson.Value("null")
		if method, _ := request.Get("method").Text(); method == methodElicit {
			if schema := request.Get("params", "_meta", keyElicitation, "requestedSchema"); schema.Exists() {
				question = schema
			}
		}
		asked = must(asked.Set(question, key))
	}
	return asked
}

// CheckAnswers holds the inputResponses of a repeated request to what was asked.
// An error wraps [ErrNotAsked] where a key is none that was. (MCP 2026-07-28,
// basic/patterns "Multi Round-Trip Requests".)
func (o *Overlay) CheckAnswers(asked, responses rawjson.Value) error {
	if responses.Kind() != rawjson.Object {
		return errors.New("inputResponses must be an object")
	}
	for key, response := range responses.Members() {
		question := asked.Get(key)
		if !question.Exists() {
			return fmt.Errorf("inputResponses %q: %w", clip(key), ErrNotAsked)
		}
		if question.Kind() == rawjson.Null {
			continue // another kind of question, and not ours
		}
		if err := o.CheckAnswer(question, response); err != nil {
			return fmt.Errorf("inputResponses %q: %w", clip(key), err)
		}
	}
	return nil
}

// CheckAnswer holds the answer to one form, {action, content?}, to the form's
// schema: fields that were not asked for, values of another type, beyond their
// bounds or not among the options are errors.
func (o *Overlay) CheckAnswer(schema, answer rawjson.Value) error {
	if answer.Kind() != rawjson.Object {
		return errors.New("the answer to a form must be an object")
	}
	// The fields bound the content; nothing else bounds what stands beside it.
	if err := o.limits.checkSize(answer.Delete("content")); err != nil {
		return fmt.Errorf("the answer to a form: %w", err)
	}
	form, err := o.Form(schema)
	if err != nil {
		return err
	}
	return form.Answer(answer)
}
