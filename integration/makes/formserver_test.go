package makes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// formServer is a server that asks the user to fill in a form, written out by
// hand: the Go SDK sends no requests of methods it does not know.
type formServer struct {
	form     string // params of the request, or the whole modern result
	onGet    bool   // asks on the GET stream, not on that of the call
	getOpen  chan struct{}
	answered chan string // what came back for the form

	mu   sync.Mutex
	seen []string // bodies
}

func newFormServer(form string) *formServer {
	return &formServer{form: form, answered: make(chan string, 1), getOpen: make(chan struct{})}
}

const formTools = `{"tools":[{"name":"ask","inputSchema":{"type":"object","properties":{}}},` +
	`{"name":"secret.open","inputSchema":{"type":"object","properties":{}},"_meta":{"ui":{"resourceUri":"ui://secret/page"}}}]}`

func (s *formServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.get(w, r)
		return
	}
	var message struct {
		ID     json.RawMessage
		Method string
		Error  *struct {
			Code    int
			Message string
		}
		Result json.RawMessage
		Params struct {
			InputResponses json.RawMessage `json:"inputResponses"`
		}
	}
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen = append(s.seen, string(body))
	s.mu.Unlock()
	if err := json.Unmarshal(body, &message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	isModern := r.Header.Get("Mcp-Protocol-Version") >= modern
	switch {
	case message.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "the-session")
		reply(w, message.ID, `{"protocolVersion":"`+legacy+`","capabilities":{"tools":{}},"serverInfo":{"name":"forms","version":"1"}}`)
	case message.Method == "server/discover":
		reply(w, message.ID, `{"resultType":"complete","supportedVersions":["`+modern+`"],"capabilities":{"tools":{}}}`)
	case message.Method == "tools/list":
		reply(w, message.ID, formTools)
	case message.Method == "tools/call" && isModern && message.Params.InputResponses != nil:
		text, _ := json.Marshal("answered " + string(message.Params.InputResponses))
		reply(w, message.ID, fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%s}]}`, text))
	case message.Method == "tools/call" && isModern:
		reply(w, message.ID, s.form)
	case message.Method == "tools/call":
		s.call(w, r, message.ID)
	case message.Method == "" && message.Error != nil && r.Header.Get("Mcp-Session-Id") == "the-session":
		s.answered <- fmt.Sprintf("error %d", message.Error.Code)
		w.WriteHeader(http.StatusAccepted)
	case message.Method == "" && message.Result != nil:
		s.answered <- string(message.Result)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// saw reports whether some request held a text.
func (s *formServer) saw(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.seen, func(body string) bool { return strings.Contains(body, text) })
}

// call asks, waits for the answer and tells it in the result.
func (s *formServer) call(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	if s.onGet {
		close(s.getOpen) // asks there
	} else {
		s.ask(w)
	}
	select {
	case answer := <-s.answered:
		text, _ := json.Marshal(answer)
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%s}]}}\n\n", id, text)
	case <-r.Context().Done():
	}
}

// get is the stream on which the server talks first.
func (s *formServer) get(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	select {
	case <-s.getOpen:
		s.ask(w)
	case <-r.Context().Done():
	}
	<-r.Context().Done()
}

func (s *formServer) ask(w http.ResponseWriter) {
	_, _ = io.WriteString(w, "id: 41\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"form-1\",\"method\":\"openai/elicitation/create\",\"params\":"+strings.ReplaceAll(s.form, "\n", "")+"}\n\n")
	_ = http.NewResponseController(w).Flush()
}

func reply(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}
