package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notes are the resources of notesServer. Whoever may see them, the server takes
// subscriptions for these and refuses all others.
var notes = []string{"note://shown", "note://hidden"}

// showsOneNote is the endpoint of callers who may see one of them.
var showsOneNote = endpoint("policy {\n\ttool *\n\tresource note://shown\n}")

// notesServer is a server of both eras whose tool announces that every note has
// changed, the hidden one first.
func notesServer() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			if !slices.Contains(notes, r.Params.URI) {
				return mcp.ResourceNotFoundError(r.Params.URI)
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, uri := range notes {
		server.AddResource(&mcp.Resource{Name: uri, URI: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "a note"}}}, nil
		})
	}
	mcp.AddTool(server, &mcp.Tool{Name: "announce"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for _, uri := range []string{notes[1], notes[0]} {
			if err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{}, nil, nil
	})
	return bothEras(func(*http.Request) *mcp.Server { return server })
}

// dataOf reads a stream until a line that contains a text, and returns all data
// lines up to it.
func dataOf(t *testing.T, stream *bufio.Reader, until string) (data []string) {
	t.Helper()
	for {
		line, err := stream.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ends after %q: %v", data, err)
		}
		if !strings.HasPrefix(line, "data:") {
			continue
		}
		if data = append(data, line); strings.Contains(line, until) {
			return data
		}
	}
}

// announceUntil calls the tool again and again until a test has seen what it
// waited for: in the modern era a subscription begins some time after the
// answer to it.
func announceUntil(t *testing.T, announce func(), seen <-chan struct{}) {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for announce(); ; {
		select {
		case <-seen:
			return
		case <-again.C:
			announce()
		case <-deadline:
			t.Fatal("no update came")
		}
	}
}

// On the raw stream: what is hidden is neither acknowledged nor announced.
func TestASubscriptionStreamNamesVisibleResourcesOnly(t *testing.T) {
	g := startBefore(t, notesServer(), showsOneNote)
	c := g.caller(t, modern, viewer("acme"))
	body, header := c.message(t, "subscriptions/listen", "", map[string]any{"notifications": map[string]any{
		"resourceSubscriptions": []string{"note://hidden", "note://shown", "note://unknown"}, "toolsListChanged": true,
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response, err := c.client.Do(c.request(t, http.MethodPost, c.url, body, header).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	stream := bufio.NewReader(response.Body)
	data := dataOf(t, stream, "notifications/subscriptions/acknowledged")
	if !strings.Contains(data[0], "note://shown") || !strings.Contains(data[0], "toolsListChanged") {
		t.Errorf("acknowledged: %q", data)
	}
	c.tool(t, "announce", nil)
	data = append(data, dataOf(t, stream, "notifications/resources/updated")...)
	if all := strings.Join(data, ""); !strings.Contains(all, "note://shown") || strings.Contains(all, "hidden") {
		t.Errorf("the stream carries %s", all)
	}
}

// A server may forget what was asked of it, or send updates to everybody.
func TestUpdatesOfHiddenResourcesAreNeverDelivered(t *testing.T) {
	events, gone := make(chan string), make(chan struct{})
	server := silentStream(events, gone)
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			events, gone = make(chan string), make(chan struct{})
			server = silentStream(events, gone)
			g := startBefore(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { server.ServeHTTP(w, r) }), showsOneNote)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := g.bearer(t, viewer("acme"))
			var response *http.Response
			if era == legacy {
				response = c.get(ctx, t, nil)
			} else {
				c.era = modern
				c.open(t)
				body, header := c.message(t, "subscriptions/listen", "", map[string]any{"notifications": map[string]any{}})
				var err error
				if response, err = c.client.Do(c.request(t, http.MethodPost, c.url, body, header).WithContext(ctx)); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = response.Body.Close() }()
			}
			update := func(uri string) string {
				return `data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + "\"}}\n\n"
			}
			for _, event := range []string{
				update("note://hidden"), "id: 3\n" + update("note://hidden"), update(`note:\/\/hidden`), update("note://h\\u0069dden"),
				`data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{}}` + "\n\n",
				`data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":7,"title":"hidden"}}` + "\n\n",
				update("note://shown"),
			} {
				events <- event
			}
			stream, all := bufio.NewReader(response.Body), ""
			for !strings.Contains(all, "note://shown") {
				line, err := stream.ReadString('\n')
				if err != nil {
					t.Fatalf("after %q: %v", all, err)
				}
				all += line
			}
			if strings.Count(all, "data:") != 1 || !strings.Contains(all, "id: 3\n") {
				t.Errorf("the stream carries %q, want one update and the id of the dropped one", all)
			}
			cancel()
			happens(t, "the server learns that the client has gone", gone)
		})
	}
}

// Whether a hidden resource exists is not told by subscribing to it either.
func TestSubscribingToAHiddenResourceIsAnsweredAsUnknown(t *testing.T) {
	g := startBefore(t, notesServer(), showsOneNote)
	c := g.caller(t, legacy, viewer("acme"))
	ask := func(method, uri string) *answer { return c.call(t, method, "", map[string]any{"uri": uri}) }
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		sameAsUnknown(t, ask(method, "note://hidden"), ask(method, "note://unknown"), "note://hidden", "note://unknown")
		if a := ask(method, "note://shown"); !a.message.Get("result").Exists() {
			t.Errorf("%s of a visible resource: %s", method, a)
		}
	}
	if a := ask("resources/subscribe", "note://hidden"); a.code() == "" {
		t.Errorf("a hidden resource was subscribed to: %s", a)
	}
}

// The Go SDK's client hears of visible changes, and of nothing else.
func TestAClientHearsOfVisibleChangesOnly(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			g := startBefore(t, notesServer(), showsOneNote)
			updates := make(chan string, 1024)
			client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
			})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint:   g.URL("acme"),
				HTTPClient: &http.Client{Transport: bearerTransport{g.token(t, viewer("acme")), g.client.Transport}},
			}, &mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = session.Close() }()
			for _, uri := range notes {
				// A hidden resource is refused in the legacy era, as an unknown one.
				if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil && uri == "note://shown" {
					t.Fatalf("subscribing to %s: %v", uri, err)
				}
			}
			seen, wrong := make(chan struct{}), make(chan string, 1)
			go func() {
				for uri := range updates {
					if uri != "note://shown" {
						wrong <- uri
					}
					if uri == "note://shown" || len(wrong) > 0 {
						close(seen)
						return
					}
				}
			}()
			announceUntil(t, func() {
				if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "announce"}); err != nil {
					t.Fatal(fmt.Errorf("announcing: %w", err))
				}
			}, seen)
			if len(wrong) > 0 {
				t.Errorf("the client was told of %s", <-wrong)
			}
		})
	}
}
