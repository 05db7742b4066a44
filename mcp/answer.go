package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Bounds of one answer to a question of our own.
const (
	MaxAnswerBytes  = 12 << 20 // of the whole answer, a stream included
	MaxAnswerEvent  = 4 << 20  // of one event of a stream
	MaxAnswerEvents = 64       // messages of a stream before the one waited for
)

// What keeps an answer from being one, beside a [RefusalError].
var (
	ErrMalformed = errors.New("malformed answer")
	ErrTooLarge  = errors.New("answer too large")
)

// Exchange sends one HTTP request to a server and returns its bounded answer.
// An event stream may be left behind the message with the given id; the rest of
// it is of no interest.
type Exchange func(ctx context.Context, method string, header http.Header, body []byte, id rawjson.Value) (*Answer, error)

// Answer is a complete HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// RefusalError is an answer that is no result: an HTTP status other than 2xx, or a
// JSON-RPC error.
type RefusalError struct {
	Status int
	Header http.Header
	RPC    rawjson.Value // the JSON-RPC error, nil if the answer holds none
}

// Error implements error, without any text of the server.
func (r *RefusalError) Error() string {
	text := "the server answers " + strconv.Itoa(r.Status)
	if code, ok := r.Code(); ok {
		text += " with error " + strconv.Itoa(code)
	}
	return text
}

// Code returns the JSON-RPC error code.
func (r *RefusalError) Code() (int, bool) {
	code, err := strconv.Atoi(string(r.RPC.Get("code")))
	return code, err == nil
}

// Collector gathers one answer as it arrives and tells when no more is needed.
type Collector struct {
	ID rawjson.Value // of the message waited for; nil waits for the end

	body     bytes.Buffer
	splitter Splitter
	events   int
	complete bool
}

// Add takes the next bytes of the answer; stream says that they belong to an
// event stream. Errors wrap [ErrTooLarge].
func (c *Collector) Add(p []byte, stream bool) error {
	if c.body.Len()+len(p) > MaxAnswerBytes {
		return fmt.Errorf("%w: more than %d MiB", ErrTooLarge, MaxAnswerBytes>>20)
	}
	c.body.Write(p)
	if !stream {
		return nil
	}
	c.splitter.Limit = MaxAnswerEvent
	err := c.splitter.Write(p, func(event Event) error {
		if len(event.Data) == 0 || c.complete {
			return nil
		}
		if c.ID.Exists() && bytes.Contains(event.Data, c.ID) {
			c.complete = true // some servers keep the stream open behind the answer
			return nil
		}
		if c.events++; c.events > MaxAnswerEvents {
			return fmt.Errorf("%w: more than %d messages before the answer", ErrTooLarge, MaxAnswerEvents)
		}
		return nil
	})
	if errors.Is(err, ErrEventTooLarge) && !c.complete {
		return fmt.Errorf("%w: an event of more than %d MiB", ErrTooLarge, MaxAnswerEvent>>20)
	}
	if c.complete {
		return nil
	}
	return err
}

// Complete reports whether the message waited for has come.
func (c *Collector) Complete() bool { return c.complete }

// Bytes returns what has come.
func (c *Collector) Bytes() []byte { return c.body.Bytes() }

// result finds the answer to the request with an id in a JSON body or an event
// stream.
func (a *Answer) result(id rawjson.Value) (rawjson.Value, error) {
	var found rawjson.Value
	var refusal *RefusalError
	err := a.messages(func(v rawjson.Value) {
		if !slices.Equal(v.Get("id"), id) || v.Get("method").Exists() {
			return
		}
		if v.Get("error").Exists() {
			refusal = &RefusalError{a.Status, a.Header, v.Get("error")}
		}
		found = v.Get("result")
	})
	switch {
	case refusal != nil:
		return nil, refusal
	case err != nil:
		return nil, err
	case found.Kind() != rawjson.Object:
		return nil, fmt.Errorf("%w: no result in it", ErrMalformed)
	default:
		return found, nil
	}
}

// refusal describes an answer whose status is not 2xx. The id of the error in it
// does not matter: a server may have failed before it read ours.
func (a *Answer) refusal() *RefusalError {
	r := &RefusalError{Status: a.Status, Header: a.Header}
	_ = a.messages(func(v rawjson.Value) { // a body that is no JSON says nothing
		if v.Get("error", "code").Exists() {
			r.RPC = v.Get("error")
		}
	})
	return r
}

// messages calls each for the messages of the answer, up to the first broken one.
func (a *Answer) messages(each func(rawjson.Value)) error {
	look := func(message []byte) error {
		v, err := rawjson.ParseLenient(message, DefaultDepth)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		each(v)
		return nil
	}
	if !IsEventStream(a.Header.Get("Content-Type")) {
		return look(a.Body)
	}
	var s Splitter
	event := func(e Event) error {
		if len(e.Data) == 0 {
			return nil
		}
		return look(slices.Clone(e.Data))
	}
	if err := s.Write(a.Body, event); err != nil {
		return err
	}
	return s.Close(event)
}
