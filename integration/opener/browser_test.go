package opener

import (
	"encoding/json"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/browser"
)

// page is one tab with a profile of its own, which follows links and never
// leaves this machine.
type page struct{ *browser.Page }

// open makes a tab that says it is on the given platform. Without JavaScript
// unless scripts is set.
func open(t *testing.T, b *browser.Browser, d device, scripts bool) *page {
	t.Helper()
	p := &page{b.Open(t, browser.View{Width: d.width, Height: d.height, Dark: d.dark})}
	agent := map[string]any{"userAgent": d.agent}
	if d.hint != "" {
		agent["userAgentMetadata"] = map[string]any{
			"platform": d.hint, "platformVersion": "", "architecture": "", "model": "", "mobile": false,
			"brands": []any{map[string]any{"brand": "Chromium", "version": "141"}},
		}
	}
	p.Must("Emulation.setUserAgentOverride", agent, nil)
	p.Must("Emulation.setScriptExecutionDisabled", map[string]any{"value": !scripts}, nil)
	p.Must("Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": "*", "requestStage": "Response"}, map[string]any{"urlPattern": "https://*", "requestStage": "Request"}}}, nil)
	return p
}

// answer is what the browser got for an address.
type answer struct {
	status   int
	location string
	followed string   // address on the web that it went on to
	logged   []string // complaints of the browser, about its policy among others
}

// visit goes to an address, and to the end of where it leads without leaving
// this machine.
func (p *page) visit(address string) answer {
	p.T.Helper()
	navigated := make(chan error, 1)
	go func() {
		var result struct{ ErrorText string }
		navigated <- p.Call("Page.navigate", map[string]any{"url": address}, &result)
	}()
	var a answer
	for {
		select {
		case m := <-p.Events:
			switch m.Method {
			case "Fetch.requestPaused":
				p.paused(m, address, &a)
			case "Page.loadEventFired":
				if a.status != 0 && a.location == "" {
					return a
				}
			case "Log.entryAdded":
				var e struct{ Entry struct{ Source, Text string } }
				if err := json.Unmarshal(m.Params, &e); err == nil && e.Entry.Source != "network" {
					a.logged = append(a.logged, e.Entry.Text)
				}
			}
		case err := <-navigated:
			if err != nil {
				p.T.Fatal(err)
			}
			if a.location != "" {
				return a
			}
		case <-p.Done():
			p.T.Fatalf("%s: the browser got no further than %+v", address, a)
		}
	}
}

// paused looks at one answer, or at a request that would leave this machine.
func (p *page) paused(m browser.Message, address string, a *answer) {
	p.T.Helper()
	var e struct {
		RequestID          string
		Request            struct{ URL string }
		ResponseStatusCode int
		ResponseHeaders    []struct{ Name, Value string }
	}
	if err := json.Unmarshal(m.Params, &e); err != nil {
		p.T.Fatal(err)
	}
	if e.ResponseStatusCode == 0 {
		a.followed = e.Request.URL
		p.Must("Fetch.failRequest", map[string]any{"requestId": e.RequestID, "errorReason": "BlockedByClient"}, nil)
		return
	}
	if e.Request.URL == address {
		a.status = e.ResponseStatusCode
		for _, h := range e.ResponseHeaders {
			if h.Name == "Location" || h.Name == "location" {
				a.location = h.Value
			}
		}
	}
	p.Must("Fetch.continueRequest", map[string]any{"requestId": e.RequestID}, nil)
}
