package caddymodule

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// How many inventories an endpoint keeps, for as long as catalogs, and how long
// asking for one may take.
const (
	inventoryCapacity = 16
	inventoryTimeout  = discovery.DefaultTimeout
)

// inventory is everything a server lists to one principal, before anything is
// filtered. Like a catalog it holds facts, never permission.
type inventory struct {
	*discovery.Report

	tools                         *mcp.Catalog
	prompts, resources, templates []string
	asked                         time.Time
}

// inventory asks the server in the caller's name for all it lists.
func (q *questions) inventory(ctx context.Context, maxTools int) (*inventory, error) {
	engine := discovery.Engine{Transport: questionsTransport{q}, MaxTools: maxTools}
	// The address is only a name: the questions go through our own handlers.
	report, err := engine.Discover(ctx, discovery.Target{URL: "http://" + q.template().Host + q.template().URL.Path})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", mcp.ErrCatalog, err)
	}
	i := &inventory{Report: report, asked: time.Now()}
	if i.tools, err = mcp.NewCatalog(report.Tools, maxTools); err != nil {
		return nil, fmt.Errorf("%w: %w", mcp.ErrCatalog, err)
	}
	i.prompts, i.resources, i.templates = members(report.Prompts, "name"), members(report.Resources, "uri"), members(report.Templates, "uriTemplate")
	return i, nil
}

func (i *inventory) capabilities() rawjson.Value { return i.Handshake.Get("capabilities") }

// members reads one text of each entry. The engine has seen that it is there.
func members(entries []rawjson.Value, name string) []string {
	texts := make([]string, 0, len(entries))
	for _, entry := range entries {
		text, _ := entry.Get(name).Text()
		texts = append(texts, text)
	}
	return texts
}

// questionsTransport sends the engine's requests as questions of our own, with
// the headers of the caller, whose own session and message they leave behind.
type questionsTransport struct{ q *questions }

// RoundTrip implements http.RoundTripper.
func (t questionsTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		defer func() { _ = r.Body.Close() }()
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	header := t.q.template().Header.Clone()
	for _, name := range []string{mcp.HeaderSession, mcp.HeaderVersion, mcp.HeaderMethod, mcp.HeaderName, "Content-Length"} {
		header.Del(name)
	}
	for name, values := range r.Header {
		header[name] = values
	}
	header.Set("Accept-Encoding", "identity")
	message, _ := rawjson.Parse(body, mcp.DefaultDepth) // ours, or empty
	answer, err := t.q.exchange(r.Context(), r.Method, header, body, message.Get("id"))
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: answer.Status, Status: http.StatusText(answer.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.Header, Body: io.NopCloser(bytes.NewReader(answer.Body)), ContentLength: int64(len(answer.Body)), Request: r,
	}, nil
}
