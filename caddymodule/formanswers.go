package caddymodule

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// Forms are asked in one exchange and answered in another, maybe at another
// replica. In between the shared state keeps what was asked, under a hash of who
// was asked and in which place.

const (
	formGroup = "forms"
	// formLife is how long people may take.
	formLife = 24 * time.Hour
	// formTimeout bounds a question to the state that a stream waits for.
	formTimeout = 2 * time.Second
)

// errFormUnkept keeps a form from a client whose answer could not be checked.
var errFormUnkept = errors.New("what the form asks cannot be kept until it is answered")

// keepForm remembers the form of a request to an older client.
func (e *exchange) keepForm(request rawjson.Value) error {
	schema := e.overlay.FormAsked(request)
	if schema == nil || e.session.ID == "" { // nothing can be answered outside sessions
		return nil
	}
	return e.keepAsked(e.legacyFormKey(request.Get("id")), schema)
}

// keepAnswerable remembers what a result asks, for the request that repeats this
// one with the answers.
func (e *exchange) keepAnswerable(result rawjson.Value) error {
	asked := e.overlay.Asked(result)
	if asked == nil || e.message == nil {
		return nil
	}
	return e.keepAsked(e.repeatKey(result.Get("requestState")), asked)
}

func (e *exchange) keepAsked(key string, asked rawjson.Value) error {
	// Also where the client has gone: it may come back to a resumed stream.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.r.Context()), formTimeout)
	defer cancel()
	if err := e.state.store.Set(ctx, key, asked, formLife); err != nil {
		e.logger.Error("form cannot be kept", zap.String("code", openai.FormRefused), zap.Error(err))
		return errFormUnkept
	}
	return nil
}

// checkFormAnswer holds the answer of an older client to the form it was shown.
// A bad one is refused to the client, and to the server in the client's place:
// otherwise the call behind the form would never end. Errors are *mcp.Error.
func (e *exchange) checkFormAnswer() error {
	msg := e.message
	result := msg.Body.Get("result")
	if !e.overlay.ChecksForms() || !result.Exists() {
		return nil
	}
	schema, err := e.asked(e.legacyFormKey(msg.ID))
	if errors.Is(err, state.ErrNotFound) {
		return nil // an answer to something else
	}
	if err != nil {
		return e.formsUnavailable(err)
	}
	if err := e.overlay.CheckAnswer(schema, result); err != nil {
		metrics.withheld.WithLabelValues("form answer").Inc()
		e.answerServer(&mcp.Error{Code: mcp.CodeInvalidParams, Message: "Invalid params: the client's answer does not fit the form", ID: slices.Clone(msg.ID)})
		// The id is the server's, and no request of the client's has failed.
		return &mcp.Error{Status: http.StatusBadRequest, Code: mcp.CodeInvalidParams, Message: "Invalid params: " + err.Error()}
	}
	return nil
}

// checkInputResponses holds the answers in a repeated request to what the result
// before it asked. A request that answers what this gateway has not seen asked
// is refused. Errors are *mcp.Error.
func (e *exchange) checkInputResponses() error {
	msg := e.message
	if !e.overlay.ChecksForms() || msg.Era != mcp.Modern {
		return nil
	}
	e.repeats = msg.Params // before anything in it is opened for the server
	responses := msg.Params.Get("inputResponses")
	if !responses.Exists() {
		return nil
	}
	asked, err := e.asked(e.repeatKey(msg.Params.Get("requestState")))
	if errors.Is(err, state.ErrNotFound) {
		e.logger.Warn("answers refused whose questions are not known", zap.String("name", loggable(msg.Name)), zap.String("subject", loggable(e.principal.Subject)),
			zap.String("fix", "nothing, if a client made them up or took longer than a day; several gateways for one endpoint need: state redis <url>"))
		return mcp.InvalidParams(msg, "inputResponses: "+openai.ErrNotAsked.Error()+"; send the request without them to be asked")
	}
	if err != nil {
		return e.formsUnavailable(err)
	}
	if err := e.overlay.CheckAnswers(asked, responses); err != nil {
		metrics.withheld.WithLabelValues("form answer").Inc()
		return mcp.InvalidParams(msg, err.Error())
	}
	return nil
}

func (e *exchange) asked(key string) (rawjson.Value, error) {
	ctx, cancel := context.WithTimeout(e.r.Context(), formTimeout)
	defer cancel()
	return e.state.store.Get(ctx, key)
}

func (e *exchange) formsUnavailable(err error) error {
	e.logger.Error("forms cannot be asked for", zap.Error(err))
	return &mcp.Error{Status: http.StatusServiceUnavailable, Code: mcp.CodeInternalError, Message: "temporarily unavailable", ID: e.requestID()}
}

// legacyFormKey is where the form of a request to the client is kept.
func (e *exchange) legacyFormKey(id rawjson.Value) string {
	return e.formKey("session", e.session.ID, canonical(id))
}

// repeatKey is where the questions of a result are kept: a client that answers
// repeats its request, with the state it was given and another id.
func (e *exchange) repeatKey(requestState rawjson.Value) string {
	p := e.repeats
	return e.formKey("request", e.message.Method, canonical(p.Get("name")), canonical(p.Get("uri")), canonical(p.Get("arguments")), canonical(requestState))
}

func (e *exchange) formKey(parts ...string) string {
	holder := e.holder()
	key := flight.KeyOf(append([]string{string(holder[:])}, parts...))
	return formGroup + "/" + hex.EncodeToString(key[:])
}

// canonical writes JSON in one way, whatever the order of members, the blanks
// between them and the escapes: clients write anew what they repeat.
func canonical(v rawjson.Value) string {
	if !v.Exists() {
		return ""
	}
	decoder := json.NewDecoder(strings.NewReader(string(v)))
	decoder.UseNumber()
	var parsed any
	if decoder.Decode(&parsed) != nil {
		return string(v)
	}
	text, err := json.Marshal(parsed)
	if err != nil {
		return string(v)
	}
	return string(text)
}
