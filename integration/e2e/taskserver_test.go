package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// taskServer is a server of both eras whose tools all become tasks. It is as bad
// as an unchanged server may be: its ids can be guessed, and are taken as
// numbers and in any case too; it knows no callers; it lists everybody's tasks,
// and speaks of all of them on every stream.
type taskServer struct {
	mu    sync.Mutex
	tools []string // by task id, from 1
	asked []string // what was asked about tasks
}

// taskRequest is what the server reads of a request.
type taskRequest struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name          string
		TaskID        any
		Notifications struct{ TaskIDs []any }
	}
}

func (s *taskServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q taskRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	if q.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(q.Method, "tasks/") || q.Method == "subscriptions/listen" {
		s.asked = append(s.asked, fmt.Sprint(q.Method, " ", q.Params.TaskID, q.Params.Notifications.TaskIDs))
	}
	if q.Method == "tools/call" && bytes.Contains(bytes.ToLower(body), []byte("taskid")) {
		s.asked = append(s.asked, string(body))
	}
	isModern := r.Header.Get("Mcp-Protocol-Version") >= modern
	answer := `{"jsonrpc":"2.0","id":` + string(q.ID) + `,` + s.answer(q, isModern) + `}`
	if q.Method != "subscriptions/listen" && q.Method != "tools/call" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if q.Method == "subscriptions/listen" {
		ids, _ := json.Marshal(q.Params.Notifications.TaskIDs)
		s.event(w, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":`+string(ids)+`}}}`)
	}
	for i := range s.tools {
		s.event(w, `{"jsonrpc":"2.0","method":"notifications/tasks","params":`+s.state(i+1, true)+`}`)
		s.event(w, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"`+strconv.Itoa(i+1)+`"}},"message":"step of `+s.tools[i]+`"}}`)
	}
	s.event(w, answer)
}

func (s *taskServer) event(w io.Writer, data string) { _, _ = io.WriteString(w, "data: "+data+"\n\n") }

// found is what a task of a tool has found, in words that name the tool.
func (s *taskServer) found(id int) string {
	if s.tools[id-1] == "search" {
		return `"content":[],"structuredContent":{"items":[{"type":"resource_link","uri":"note://hidden","name":"One"},{"type":"resource_link","uri":"note://shown","name":"Two"}]}`
	}
	return `"content":[{"type":"text","text":"found by ` + s.tools[id-1] + `"},{"type":"resource_link","uri":"note://hidden","name":"n"}]`
}

func (s *taskServer) state(id int, whole bool) string {
	state := `{"taskId":"` + strconv.Itoa(id) + `","status":"completed","statusMessage":"of ` + s.tools[id-1] + `","createdAt":"2026-01-01T00:00:00Z","ttl":null,"resultType":"complete"`
	if whole {
		state += `,"result":{` + s.found(id) + `}`
	}
	return state + "}"
}

func (s *taskServer) answer(q taskRequest, isModern bool) string {
	id, _ := strconv.Atoi(fmt.Sprint(q.Params.TaskID))
	known := id > 0 && id <= len(s.tools)
	switch {
	case q.Method == "initialize":
		return `"result":{"protocolVersion":"` + legacy + `","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"tasks","version":"1"}}`
	case q.Method == "tools/call":
		s.tools = append(s.tools, q.Params.Name)
		if isModern {
			return `"result":{"resultType":"task","taskId":"` + strconv.Itoa(len(s.tools)) + `","status":"working"}`
		}
		return `"result":{"task":{"taskId":"` + strconv.Itoa(len(s.tools)) + `","status":"working"}}`
	case q.Method == "tasks/list":
		all := make([]string, len(s.tools))
		for i := range s.tools {
			all[i] = s.state(i+1, false)
		}
		return `"result":{"tasks":[` + strings.Join(all, ",") + `]}`
	case slices.Contains([]string{"tasks/get", "tasks/cancel", "tasks/update"}, q.Method) && known:
		return `"result":` + s.state(id, isModern)
	case q.Method == "tasks/result" && known:
		return `"result":{` + s.found(id) + `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + strconv.Itoa(id) + `"}}}`
	case q.Method == "subscriptions/listen":
		return `"result":{"resultType":"complete"}`
	default:
		return `"error":{"code":-32602,"message":"no such thing"}`
	}
}

// forget returns what came since the last time.
func (s *taskServer) forget() (asked []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, s.asked = s.asked, nil
	return asked
}
