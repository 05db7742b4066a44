package tunnelcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// kept are the headers of a target that arrive at the connector.
var kept = []string{
	"Content-Type", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Access-Control-Expose-Headers", "Www-Authenticate",
}

// ErrTooLarge says that an answer goes beyond what the client reads.
var ErrTooLarge = errors.New("the answer is too large")

// Answer is what arrives at the connector.
type Answer struct {
	Status        int
	Header        http.Header
	Body          []byte   // the answer to the command
	Notifications [][]byte // what the target said before it
}

// Command sends a message of the connector, whose headers replace the static
// ones. A stream is read up to the answer to the message, whatever may follow.
// Errors are what the connector hears of as a failure of the tunnel: no
// connection, an answer beyond the bounds, a stream without an answer.
func (c *Client) Command(ctx context.Context, body []byte, header http.Header) (*Answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	for _, lines := range []http.Header{c.Header, header} {
		for name, values := range lines {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	resp, err := c.client().Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer := &Answer{Status: resp.StatusCode, Header: make(http.Header)}
	for _, name := range kept {
		if values := resp.Header.Values(name); len(values) > 0 {
			answer.Header[name] = values
		}
	}
	id := rawjson.Value(body).Get("id")
	switch {
	case resp.StatusCode/100 != 2:
		answer.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxFailure))
		answer.explain(id)
	case mcp.IsEventStream(resp.Header.Get("Content-Type")):
		err = answer.unpack(resp.Body, id)
	default:
		answer.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		if err == nil && len(answer.Body) > maxAnswer {
			err = ErrTooLarge
		}
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// explain replaces an answer that is no JSON-RPC error by one that says so.
func (a *Answer) explain(id rawjson.Value) {
	if message, err := rawjson.ParseLenient(a.Body, mcp.DefaultDepth); err == nil && message.Get("error", "code").Exists() {
		return
	}
	if !id.Exists() {
		id = rawjson.Value("null")
	}
	a.Header.Set("Content-Type", "application/json")
	a.Body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the target answers %d","data":{"tunnel_failure":{"version":1,"source":"target_http","status":%d}}}}`, id, a.Status, a.Status)
}

// errAnswered ends the reading of a stream.
var errAnswered = errors.New("the answer has come")

// unpack makes JSON of a stream. Its messages up to the answer are told by
// themselves.
func (a *Answer) unpack(stream io.Reader, id rawjson.Value) error {
	var splitter mcp.Splitter
	event := func(e mcp.Event) error {
		if len(e.Data) == 0 {
			return nil
		}
		message, err := rawjson.ParseLenient(e.Data, mcp.DefaultDepth)
		switch {
		case err != nil:
			return fmt.Errorf("a message of the stream is no JSON: %w", err)
		case !message.Get("method").Exists() && slices.Equal(message.Get("id"), id):
			a.Body = bytes.Clone(message)
			return errAnswered
		}
		a.Notifications = append(a.Notifications, bytes.Clone(message))
		return nil
	}
	read, chunk := 0, make([]byte, 32<<10)
	for {
		n, err := stream.Read(chunk)
		if read += n; read > maxAnswer {
			return ErrTooLarge
		}
		told := splitter.Write(chunk[:n], event)
		if told == nil && err == io.EOF {
			told = splitter.Close(event)
		}
		switch {
		case errors.Is(told, errAnswered):
			a.Header.Set("Content-Type", "application/json")
			return nil
		case told != nil:
			return told
		case err == io.EOF:
			return errors.New("the stream ends without the answer")
		case err != nil:
			return err
		}
	}
}
