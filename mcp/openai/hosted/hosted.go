// Package hosted asks OpenAI which tools it finds on an MCP server: OpenAI's own
// client connects to it, so that the answer is what ChatGPT's side of the world
// sees (Responses API, https://developers.openai.com/api/docs/guides/tools-remote-mcp).
//
// The one request allows nothing but listing: no tool may be chosen, every call
// would need an approval, and none is ever given.
package hosted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Defaults of a [Check].
const (
	DefaultBaseURL = "https://api.openai.com/v1"
	DefaultModel   = "gpt-5.6-luna"
	DefaultLabel   = "mcp_app"
)

// Check is one question to OpenAI.
type Check struct {
	BaseURL string // empty: [DefaultBaseURL]
	Key     string // API key
	Model   string // empty: [DefaultModel]
	Label   string // the server's label in the request; empty: [DefaultLabel]

	// ServerURL or TunnelID says which server is asked, exactly one of them.
	ServerURL, TunnelID string
	// Token is the server's bearer token, without "Bearer", empty for none.
	Token string
	// HeaderOnly sends the token as an Authorization header of its own instead
	// of in authorization.
	HeaderOnly bool
	// Header holds the server's API keys, sent as they are.
	Header http.Header
	// AllowedTools narrows what OpenAI lists; nil: everything.
	AllowedTools []string

	Timeout   time.Duration     // of everything; 0: [discovery.DefaultTimeout]
	Transport http.RoundTripper // nil: our own
	Progress  func(what string) // told what happens, may be nil
}

// Catalog is what OpenAI lists.
type Catalog struct {
	// Tools are in the shape of MCP, with what OpenAI tells about them: name,
	// description, inputSchema and annotations.readOnlyHint.
	Tools []rawjson.Value
	// InputTokens is what the question cost, 0 if that was not said.
	InputTokens int
	// Note says what went wrong behind the listing, empty if nothing.
	Note string
}

// retryPause is waited before the one retry.
const retryPause = 500 * time.Millisecond

// maxErrorBytes bounds what is read of an error.
const maxErrorBytes = 64 << 10

// List asks. Errors are of type [*discovery.Error].
func (c Check) List(ctx context.Context) (*Catalog, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = discovery.DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client := discovery.NewClient(c.Transport)
	if c.Transport == nil {
		defer client.CloseIdleConnections()
	}
	catalog, retry, err := c.ask(ctx, client, body)
	if retry && ctx.Err() == nil {
		select {
		case <-time.After(retryPause):
			catalog, _, err = c.ask(ctx, client, body)
		case <-ctx.Done():
		}
	}
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	return catalog, nil
}

// ask sends the request once and reports whether a failure may pass.
func (c Check) ask(ctx context.Context, client *http.Client, body []byte) (catalog *Catalog, retry bool, err error) {
	c.progress("asking OpenAI")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(), strings.NewReader(string(body)))
	if err != nil {
		return nil, false, fmt.Errorf("making the request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream, application/json")
	r.Header.Set("User-Agent", "caddy-mcp-app")
	response, err := client.Do(r)
	if err != nil {
		return nil, true, fmt.Errorf("asking OpenAI: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes)) // the status says enough
		failure := c.httpFailure(response.StatusCode, text)
		transient := failure.Class == discovery.Connector || failure.Class == discovery.Unavailable
		return nil, transient, failure
	}
	catalog, err = c.read(response.Body, response.Header.Get("Content-Type"))
	return catalog, false, err
}

// failure gives every error a class.
func (c Check) failure(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*discovery.Error](err); ok {
		return err
	}
	e := &discovery.Error{}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		e.Class, e.Detail = discovery.Canceled, "given up"
	case ctx.Err() != nil:
		e.Class, e.Detail = discovery.Timeout, "OpenAI gave no complete answer in time"
	default:
		discovery.ClassifyConnection(e, err)
		e.Detail = "OpenAI: " + e.Detail
	}
	return e
}

func (c Check) progress(what string) {
	if c.Progress != nil {
		c.Progress(what)
	}
}

// clean makes a text of OpenAI, or of the server behind it, fit to be shown.
func (c Check) clean(text string) string {
	return discovery.Clean(text, discovery.MaxText, append(c.target().Secrets(), c.Key))
}
