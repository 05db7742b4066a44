package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is the HTTP side of a client. It adds the token and, once, lets only the
// first event of an answer through, although the server has sent everything.
type wire struct {
	next      http.RoundTripper
	token     string
	breakNext atomic.Bool
	resumed   atomic.Int64
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	if r.Header.Get("Last-Event-ID") != "" {
		w.resumed.Add(1)
	}
	var asked []byte
	if r.Body != nil {
		var err error
		if asked, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(asked))
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil || !bytes.Contains(asked, []byte(`"tools/list"`)) || !w.breakNext.CompareAndSwap(true, false) {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	first, _, _ := bytes.Cut(body, []byte("\n\n"))
	resp.Body = io.NopCloser(bytes.NewReader(append(first, "\n\n"...)))
	return resp, nil
}

// walk does with the Go SDK what integration/node/client.mjs does with the
// TypeScript ones.
func walk(t *testing.T, w *wire, url, revision string, p plan) transcript {
	t.Helper()
	ctx := t.Context()
	progress, updates := make(chan struct{}, 16), make(chan string, 16)
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress <- struct{}{} },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
	})
	s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: w}},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	defer s.Close()
	var seen transcript
	seen.Revision = s.InitializeResult().ProtocolVersion
	listTools := func() []string { return all(t, s.Tools(ctx, nil), func(e *mcp.Tool) string { return e.Name }) }
	seen.Tools = listTools()
	seen.Prompts = all(t, s.Prompts(ctx, nil), func(e *mcp.Prompt) string { return e.Name })
	seen.Resources = all(t, s.Resources(ctx, nil), func(e *mcp.Resource) string { return e.URI })
	seen.Templates = all(t, s.ResourceTemplates(ctx, nil), func(e *mcp.ResourceTemplate) string { return e.URITemplate })

	params := &mcp.CallToolParams{Name: p.Call.Name, Arguments: p.Call.Arguments}
	params.SetProgressToken("steps")
	seen.Called = words(must(s.CallTool(ctx, params))(t).Content...)
	for deadline := time.After(10 * time.Second); seen.Progress < p.want.Progress; {
		select {
		case <-progress:
			seen.Progress++
			continue
		case <-deadline:
		}
		break
	}
	for _, item := range must(s.CallTool(ctx, &mcp.CallToolParams{Name: p.Linking.Name, Arguments: p.Linking.Arguments}))(t).Content {
		if link, ok := item.(*mcp.ResourceLink); ok {
			seen.Links = append(seen.Links, link.URI)
		}
	}
	seen.HiddenCall = outcome(s.CallTool(ctx, &mcp.CallToolParams{Name: p.HiddenTool}))
	seen.UnknownCall = outcome(s.CallTool(ctx, &mcp.CallToolParams{Name: p.UnknownTool}))
	seen.Read = must(s.ReadResource(ctx, &mcp.ReadResourceParams{URI: p.Read}))(t).Contents[0].Text
	seen.HiddenRead = outcome(s.ReadResource(ctx, &mcp.ReadResourceParams{URI: p.HiddenResource}))
	seen.UnknownRead = outcome(s.ReadResource(ctx, &mcp.ReadResourceParams{URI: p.UnknownResource}))
	for _, message := range must(s.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Prompt}))(t).Messages {
		seen.Prompt += words(message.Content)
	}
	seen.HiddenPrompt = outcome(s.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.HiddenPrompt}))
	seen.UnknownPrompt = outcome(s.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.UnknownPrompt}))

	if p.Updated != "" {
		seen.Updated = awaitUpdate(t, s, updates, p)
	}
	if p.Resume {
		w.breakNext.Store(true)
		seen.ResumedTools = listTools()
		seen.Resumed = int(w.resumed.Load())
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if id != "" {
		seen.AfterClose = ping(t, w, url, id, revision)
	}
	return seen
}

// awaitUpdate subscribes to a hidden and a visible resource and returns the
// updates until one of the visible came.
func awaitUpdate(t *testing.T, s *mcp.ClientSession, updates <-chan string, p plan) (seen []string) {
	t.Helper()
	for _, uri := range []string{p.HiddenResource, p.Updated} {
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil && uri == p.Updated {
			t.Fatalf("subscribing to %s: %v", uri, err)
		}
	}
	announce := func() { must(s.CallTool(t.Context(), &mcp.CallToolParams{Name: p.Announce}))(t) }
	announce()
	// In the modern era a subscription begins some time after it was asked for.
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case uri := <-updates:
			if seen = append(seen, uri); uri == p.Updated {
				return seen
			}
		case <-retry.C:
			if s.ID() == "" {
				announce()
			}
		case <-deadline:
			t.Errorf("no update of %s came, only %q", p.Updated, seen)
			return seen
		}
	}
}

// ping asks in a session that the client has closed.
func ping(t *testing.T, w *wire, url, session, revision string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", revision)
	r.Header.Set("Mcp-Session-Id", session)
	resp, err := w.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// all reads a listing to its end.
func all[T any](t *testing.T, elements iter.Seq2[T, error], name func(T) string) (names []string) {
	t.Helper()
	for element, err := range elements {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name(element))
	}
	slices.Sort(names)
	return names
}

// must fails the test on an error: must(f())(t).
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// outcome puts an answer, of whatever kind, into words.
func outcome[T any](result T, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	data, err := json.Marshal(result)
	if err != nil {
		return err.Error()
	}
	return "result " + string(data)
}

func words(content ...mcp.Content) string {
	var texts []string
	for _, item := range content {
		if text, ok := item.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}
