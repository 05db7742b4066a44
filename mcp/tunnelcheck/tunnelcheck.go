// Package tunnelcheck stands in for OpenAI's tunnel client, as far as its target can
// tell: what it sends when it starts, how it sends the connector's commands on,
// and what of the answers it lets through. It keeps to the client's bounds, and
// differs in one thing: it tries everything once, not three times.
package tunnelcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Bounds of the client.
const (
	maxDocument = 1 << 20   // of a protected-resource document
	maxFailure  = 100 << 10 // of an answer other than 2xx
	maxAnswer   = 16 << 20  // of any other answer, a stream included
	maxHeader   = 1 << 20   // of the header of an answer
	maxHops     = 10        // of redirects between documents
)

// Client is one running tunnel client.
type Client struct {
	// Target is the endpoint, whose host is also the Host of each request.
	Target string
	// Header are the static header lines of the profile. Questions for documents
	// go without them.
	Header http.Header
	// HTTP sends the requests. Default: a client whose answers have a header of
	// at most 1 MiB.
	HTTP *http.Client
}

// Ready is what the client found out when it started.
type Ready struct {
	Initialize int    // status of the probe
	Challenge  string // of the probe, if it needs a login
	Metadata   string // address of the protected-resource document, empty without one
	Document   map[string]any
}

// Start probes the target: initialize, then the protected-resource documents,
// that of the path first. Without a document the target has no logins, if both
// addresses are 404; otherwise the client does not become ready.
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
	var failure error
	for _, path := range []string{wellKnown + target.Path, wellKnown} {
		candidate := (&url.URL{Scheme: target.Scheme, Host: target.Host, Path: path}).String()
		status, body, err := c.document(ctx, candidate)
		switch {
		case err != nil:
			return ready, err
		case status == http.StatusNotFound:
			continue
		case status != http.StatusOK:
			failure = fmt.Errorf("%s is answered %d", candidate, status)
			if status < http.StatusInternalServerError {
				return ready, failure
			}
			continue
		case json.Unmarshal(body, &ready.Document) != nil || ready.Document == nil:
			return ready, fmt.Errorf("%s is no JSON object", candidate)
		}
		ready.Metadata = candidate
		return ready, nil
	}
	return ready, failure
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
	first := ""
	if len(servers) > 0 { // the client uses the first one only
		first, _ = servers[0].(string)
	}
	problem(r.Metadata != "" && first == "", "the protected-resource document names no authorization server")
	return problems
}

// document fetches a document, and follows redirects to the same origin only.
func (c *Client) document(ctx context.Context, address string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	client := *c.client()
	client.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		if from := via[0].URL; to.URL.Scheme != from.Scheme || to.URL.Host != from.Host || len(via) > maxHops {
			return errors.New("it redirects to another origin, or too often")
		}
		return nil
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err == nil && len(body) > maxDocument {
		err = fmt.Errorf("%s is larger than %d bytes", address, maxDocument)
	}
	return resp.StatusCode, body, err
}

// bounded is the default for Client.HTTP.
var bounded = func() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = maxHeader
	return &http.Client{Transport: transport}
}()

func (c *Client) client() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return bounded
}
