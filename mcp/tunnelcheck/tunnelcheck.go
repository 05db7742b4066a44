// Package tunnelcheck stands in for OpenAI's tunnel client, as far as its target can
// tell: what it sends when it starts, how it sends the connector's commands on,
// and what of the answers it lets through.
package tunnelcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	maxDocument = 1 << 20
	maxAnswer   = 16 << 20
)

// kept are the headers of a target that arrive at the connector.
var kept = []string{
	"Content-Type", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Access-Control-Expose-Headers", "Www-Authenticate",
}

// Client is one running tunnel client.
type Client struct {
	// Target is the endpoint, whose host is also the Host of each request.
	Target string
	// Header are the static header lines of the profile.
	Header http.Header
	// HTTP sends the requests. Default: http.DefaultClient.
	HTTP *http.Client
}

// Ready is what the client found out when it started.
type Ready struct {
	Initialize int    // status of the probe
	Challenge  string // of the probe, if it needs a login
	Metadata   string // address of the protected-resource document, empty without one
	Document   map[string]any
}

// Answer is what arrives at the connector.
type Answer struct {
	Status        int
	Header        http.Header
	Body          []byte   // the last message
	Notifications [][]byte // those before it
}

// Start probes the target: initialize, then the protected-resource documents,
// that of the path first. That all of them are 404 is no error; another failure
// of the last one is.
func (c *Client) Start(ctx context.Context) (Ready, error) {
	probe, err := c.Command(ctx, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tunnel-client","version":"1"}}}`), nil)
	if err != nil {
		return Ready{}, fmt.Errorf("probing the target: %w", err)
	}
	ready := Ready{Initialize: probe.Status, Challenge: probe.Header.Get("Www-Authenticate")}
	target, err := url.Parse(c.Target)
	if err != nil {
		return ready, err
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	for _, path := range []string{wellKnown + target.Path, wellKnown} {
		candidate := url.URL{Scheme: target.Scheme, Host: target.Host, Path: path}
		status, body, err := c.get(ctx, candidate.String())
		switch {
		case err != nil:
			return ready, err
		case status != http.StatusOK:
			continue
		case json.Unmarshal(body, &ready.Document) != nil:
			return ready, fmt.Errorf("%s is no JSON object", candidate.String())
		}
		ready.Metadata = candidate.String()
		break
	}
	return ready, nil
}

// Check judges what Start found, for an endpoint with logins or without, and
// returns each problem in a sentence.
func (r Ready) Check(logins bool) []string {
	var problems []string
	problem := func(bad bool, text string) {
		if bad {
			problems = append(problems, text)
		}
	}
	if !logins {
		problem(r.Initialize != http.StatusOK, fmt.Sprintf("initialize is answered %d, not 200", r.Initialize))
		problem(r.Metadata != "", "there is a protected-resource document although nobody can log in")
		return problems
	}
	problem(r.Initialize != http.StatusUnauthorized && r.Initialize != http.StatusOK, fmt.Sprintf("initialize without a token is answered %d, not 401", r.Initialize))
	problem(r.Initialize == http.StatusUnauthorized && !strings.Contains(r.Challenge, "resource_metadata="), "the challenge names no resource_metadata")
	problem(r.Metadata == "", "neither address has a protected-resource document")
	servers, _ := r.Document["authorization_servers"].([]any)
	problem(r.Metadata != "" && len(servers) == 0, "the protected-resource document names no authorization server")
	return problems
}

// Command sends a message of the connector, whose headers replace the static
// ones.
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
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	answer := &Answer{Status: resp.StatusCode, Header: make(http.Header), Body: text}
	for _, name := range kept {
		if values := resp.Header.Values(name); len(values) > 0 {
			answer.Header[name] = values
		}
	}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		answer.unpack()
	}
	return answer, nil
}

// unpack makes JSON of a stream: the last message is the answer.
func (a *Answer) unpack() {
	var messages [][]byte
	for line := range bytes.Lines(a.Body) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(bytes.TrimSpace(data)) > 0 {
			messages = append(messages, bytes.TrimSpace(data))
		}
	}
	a.Header.Set("Content-Type", "application/json")
	a.Body = nil
	if last := len(messages) - 1; last >= 0 {
		a.Body, a.Notifications = messages[last], messages[:last]
	}
}

func (c *Client) get(ctx context.Context, address string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.client().Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	return resp.StatusCode, body, err
}

func (c *Client) client() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return http.DefaultClient
}
