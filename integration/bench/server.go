package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is the MCP server behind every path. It does as little as an MCP server
// can, so that the differences between paths are not lost in its own work. What
// it answers is chosen by the query: ?tools=N lists N tools, &vary=1 another
// list each time, ?reply=N answers a call with N bytes, ?events=N&every=D with
// a stream.
type server struct {
	lists sync.Map // number of tools -> []byte, the members of the result
	calls atomic.Int64
	open  atomic.Int64 // streams
}

// runServer serves until the process is killed, and prints its address.
func runServer(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return http.Serve(l, new(server)) //nolint:gosec // the peers measured bring their own timeouts
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	message := parse(body)
	query := r.URL.Query()
	if message.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch message.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "session-"+strconv.FormatInt(s.calls.Add(1), 10))
		answer(w, message.ID, `"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}`)
	case "server/discover":
		answer(w, message.ID, `"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"},"ttlMs":0,"cacheScope":"private"`)
	case "tools/list":
		s.list(w, message.ID, query)
	case "subscriptions/listen":
		s.idle(w, r, message.ID)
	case "tools/call":
		if !bytes.Contains(body[:min(len(body), 256)], []byte(`"name":"visible.`)) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}`, message.ID)
			return
		}
		s.call(w, message.ID, query)
	default:
		answer(w, message.ID, `"resultType":"complete"`)
	}
}

type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// parse finds id and method without reading a long message to its end.
func parse(body []byte) call {
	const prefix = `{"jsonrpc":"2.0","id":`
	if rest, ok := bytes.CutPrefix(body, []byte(prefix)); ok {
		id, rest, _ := bytes.Cut(rest, []byte(`,"method":"`))
		method, _, found := bytes.Cut(rest, []byte(`"`))
		if found {
			return call{id, string(method)}
		}
	}
	var message call
	_ = json.Unmarshal(body, &message) // no id: answered like a notification
	return message
}

// answer sends a result with the given members.
func answer(w http.ResponseWriter, id json.RawMessage, members string) {
	head := `{"jsonrpc":"2.0","id":` + string(id) + `,"result":{`
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(members)+2))
	// A client that has gone away ends the round as failed.
	_, _ = io.WriteString(w, head)
	_, _ = io.WriteString(w, members)
	_, _ = io.WriteString(w, "}}")
}

func (s *server) call(w http.ResponseWriter, id json.RawMessage, query url.Values) {
	if events, err := strconv.Atoi(query.Get("events")); err == nil {
		every, _ := time.ParseDuration(query.Get("every"))
		s.stream(w, id, events, every)
		return
	}
	size := len(padding)
	if n, err := strconv.Atoi(query.Get("reply")); err == nil {
		size = n
	}
	text := padding
	if size != len(padding) {
		text = strings.Repeat("a", size)
	}
	answer(w, id, `"resultType":"complete","content":[{"type":"text","text":"`+text+`"}]`)
}

// stream sends events that say when they left, and then the result.
func (s *server) stream(w http.ResponseWriter, id json.RawMessage, events int, every time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	next := time.Now()
	for i := range events {
		fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d,"message":"%d"}}`+"\n\n", i, time.Now().UnixNano())
		if flush() != nil {
			return
		}
		next = next.Add(every)
		time.Sleep(time.Until(next))
	}
	fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[]}}`+"\n\n", id)
}

// idle holds a stream open that says nothing after its first event.
func (s *server) idle(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
	s.open.Add(1)
	defer s.open.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}`+"\n\n", id)
	if http.NewResponseController(w).Flush() == nil {
		<-r.Context().Done()
	}
}

func (s *server) list(w http.ResponseWriter, id json.RawMessage, query url.Values) {
	count, err := strconv.Atoi(query.Get("tools"))
	if err != nil {
		count = 10
	}
	made, ok := s.lists.Load(count)
	if !ok {
		made, _ = s.lists.LoadOrStore(count, toolList(count))
	}
	list := made.(string)
	if query.Get("vary") != "" {
		// Another description of the first tool, of the same length.
		list = strings.Replace(list, "variant 0000000000", fmt.Sprintf("variant %010d", s.calls.Add(1)), 1)
	}
	answer(w, id, list)
}

// toolList writes the members of a tools/list result: the tools that the
// measurements call, then pairs of a visible and a hidden one, half a kilobyte
// each.
func toolList(count int) string {
	var b strings.Builder
	b.WriteString(`"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`)
	b.WriteString(`{"name":"visible.echo","description":"variant 0000000000","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`)
	b.WriteString(`,{"name":"settings.read","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`)
	b.WriteString(`,{"name":"settings.update","inputSchema":{"type":"object","properties":{"set":{"type":"object"}},"required":["set"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true}}`)
	for i := 3; i < count; i++ {
		kind := "visible"
		if i%2 == 1 {
			kind = "hidden"
		}
		fmt.Fprintf(&b, `,{"name":"%s.tool%04d","title":"Tool %d","description":"%s","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true},"_meta":{"ui":{"resourceUri":"ui://bench/page"}}}`,
			kind, i, i, padding[:250])
	}
	b.WriteString(`]`)
	return b.String()
}
