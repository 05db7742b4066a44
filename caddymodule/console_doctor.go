package caddymodule

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

// examineForConsole checks an address from outside, as caddy mcp-app doctor does,
// and tells about it in events:
//
//	event: progress    data: {"what":"…"}
//	event: report      data: what doctor --json prints
//	event: failure     data: a consoleFault
//
// The address is the one that the admin endpoint named in its explanation, of
// the configuration alone. The page cannot choose another, so that it can send a
// token nowhere else.
func examineForConsole(ctx context.Context, w http.ResponseWriter, request, explained []byte, say func(string)) {
	var asked struct {
		Token string `json:"token"`
		Host  string `json:"host"`
	}
	var told struct {
		Address string `json:"address"`
	}
	_, _ = json.Unmarshal(request, &asked), json.Unmarshal(explained, &told) // both were read by others before
	if asked.Host != "" {
		writeFault(w, &consoleFault{"refused", "Only the address of the configuration is checked: leave the host out.", http.StatusBadRequest})
		return
	}
	d := newDoctor()
	d.Target = discovery.Target{URL: told.Address, Token: asked.Token}
	if err := d.Target.Check(); err != nil {
		writeFault(w, &consoleFault{"refused", discovery.Clean("The address of the endpoint cannot be asked: "+err.Error(), discovery.MaxText, d.Target.Secrets()), http.StatusUnprocessableEntity})
		return
	}
	var mu sync.Mutex // the doctor may speak from several sides
	stream := beginEvents(w)
	send := func(event string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		_ = stream.send(fmt.Sprintf("event: %s\ndata: %s\n\n", event, text)) // ctx ends with the page
	}
	d.Transport = discoverTransport
	d.Progress = func(what string) {
		say(what)
		send("progress", map[string]string{"what": discovery.Clean(what, discovery.MaxText, d.Target.Secrets())})
	}
	d.Progress(d.Target.Shown())
	report, err := d.Check(ctx)
	if err != nil {
		send("failure", consoleFault{Class: "refused", Text: discovery.Clean(err.Error(), discovery.MaxText, d.Target.Secrets())})
		return
	}
	report.Worst(openai.Note)
	send("report", report)
}
