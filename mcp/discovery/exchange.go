package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Step is the evidence of one HTTP request.
type Step struct {
	Method string // HTTP
	RPC    string // the MCP method, empty for the end of a session
	Era    mcp.Era
	Status int // 0: no answer
	// Header is the answer's, as it came; cookies and session ids are left out.
	Header http.Header
	Stream bool // an event stream
	// Compressed says that the answer came compressed with gzip.
	Compressed bool
	Cookie     bool // the server wanted to set a cookie, which was not kept
	Bytes      int  // of the body, as far as it was read
	FirstByte  time.Duration
	Total      time.Duration
	Failure    Class // empty: an answer came, whatever it says
}

// ContentType returns the answer's media type with its parameters.
func (s Step) ContentType() string { return s.Header.Get("Content-Type") }

const (
	maxHeaderBytes = 256 << 10
	// maxRefusalBytes bounds what is read of an answer that is none: enough for
	// a JSON-RPC error.
	maxRefusalBytes = 64 << 10
)

// NewClient makes a client that keeps no cookies and follows no redirects: both could carry
// credentials elsewhere.
func NewClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: maxHeaderBytes,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      false,
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        5 * time.Second,
		}
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// exchange implements [mcp.Exchange] over the network and keeps the evidence.
func (d *discovery) exchange(ctx context.Context, method string, header http.Header, body []byte, id rawjson.Value) (*mcp.Answer, error) {
	step := Step{Method: method, Era: d.era}
	step.RPC, _ = rawjson.Value(body).Get("method").Text()
	if step.RPC != "" {
		d.asking = step.RPC
		if d.engine.Progress != nil {
			d.engine.Progress(step.RPC)
		}
	}
	if !rawjson.Value(body).Get("id").Exists() {
		id = nil // a notification, or the end of a session: nothing to wait for
	}
	started := time.Now()
	answer, err := d.send(ctx, &step, header, body, id)
	step.Total = time.Since(started)
	if err != nil {
		step.Failure = d.classify(ctx, err).Class
	}
	d.report.Steps = append(d.report.Steps, step)
	return answer, err
}

func (d *discovery) send(ctx context.Context, step *Step, header http.Header, body []byte, id rawjson.Value) (*mcp.Answer, error) {
	// The answer's body is closed with its connection, however much is left.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := d.request(ctx, step, header, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer := &mcp.Answer{Status: response.StatusCode, Header: response.Header}
	switch {
	case response.StatusCode/100 != 2:
		// A body that breaks off takes nothing away from the status.
		answer.Body, _ = io.ReadAll(io.LimitReader(response.Body, maxRefusalBytes))
		step.Bytes = len(answer.Body)
		return answer, nil
	case !id.Exists():
		return answer, nil
	case response.Header.Get("Content-Encoding") != "":
		return nil, fmt.Errorf("%w: it is compressed in a way that was not asked for", mcp.ErrMalformed)
	}
	answer.Body, err = collect(response.Body, step.Stream, id)
	step.Bytes = len(answer.Body)
	return answer, err
}

// request sends one request and keeps the evidence of the answer's head.
func (d *discovery) request(ctx context.Context, step *Step, header http.Header, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, step.Method, d.target.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	r.Header = header
	started := time.Now()
	response, err := d.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	step.FirstByte, step.Status = time.Since(started), response.StatusCode
	step.Cookie = response.Header.Get("Set-Cookie") != ""
	step.Compressed = response.Uncompressed
	step.Stream = mcp.IsEventStream(response.Header.Get("Content-Type"))
	step.Header = response.Header.Clone()
	step.Header.Del("Set-Cookie")
	step.Header.Del(mcp.HeaderSession)
	return response, nil
}

// collect reads an answer up to the message with an id.
func collect(body io.Reader, stream bool, id rawjson.Value) ([]byte, error) {
	c := mcp.Collector{ID: id}
	buffer := make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		if addErr := c.Add(buffer[:n], stream); addErr != nil {
			return c.Bytes(), addErr
		}
		switch {
		case c.Complete() || errors.Is(err, io.EOF):
			return c.Bytes(), nil
		case err != nil:
			return c.Bytes(), fmt.Errorf("reading the answer: %w", err)
		}
	}
}
