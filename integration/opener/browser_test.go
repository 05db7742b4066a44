package opener

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// chromium is where Debian puts it.
const chromium = "/usr/bin/chromium"

// patience bounds every wait for the browser, also on a busy machine.
const patience = 2 * time.Minute

// browser is a Chromium that is driven over its debugging pipe: JSON messages
// with a zero byte behind each (Chrome DevTools Protocol).
type browser struct {
	ctx    context.Context
	in     io.Writer
	mu     sync.Mutex
	nextID int
	waits  map[int]chan message
	pages  map[string]chan message // events, by session
}

type message struct {
	ID        int             `json:"id"`
	SessionID string          `json:"sessionId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     *struct{ Message string }
}

// startBrowser skips the test where there is no browser, but not where that
// would mean that nobody ever runs it.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	if _, err := os.Stat(chromium); err != nil {
		if os.Getenv("MCP_APP_CI") == "1" {
			t.Fatalf("no browser: %v", err)
		}
		t.Skipf("no browser (Debian: apt-get install chromium): %v", err)
	}
	// Not t.TempDir: children of the browser may still write when it has ended.
	profile, err := os.MkdirTemp("", "mcp-app-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	// Longer than the test, for the browser to be closed and not killed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
		// Names are answered by the gateway or not at all.
		"--host-resolver-rules=MAP *.localhost 127.0.0.1, MAP * ~NOTFOUND",
		"--user-data-dir="+profile)
	cmd.WaitDelay = 10 * time.Second
	fromUs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromIt, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{fromUs, fromIt} // 3 and 4, where the browser looks for them
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting the browser: %v", err)
	}
	_ = errors.Join(fromUs.Close(), fromIt.Close()) // the browser has its own
	b := &browser{ctx: ctx, in: in, waits: make(map[int]chan message), pages: make(map[string]chan message)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.listen(out)
	}()
	t.Cleanup(func() {
		_ = b.call("", "Browser.close", nil, nil)
		_ = in.Close()
		_ = cmd.Wait()
		_ = out.Close()
		<-done
	})
	return b
}

func (b *browser) listen(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			continue
		}
		b.mu.Lock()
		wait, events := b.waits[m.ID], b.pages[m.SessionID]
		b.mu.Unlock()
		switch {
		case m.ID != 0 && wait != nil:
			wait <- m
		case m.Method != "" && events != nil:
			select {
			case events <- m:
			case <-b.ctx.Done():
			}
		}
	}
}

// call sends a command and decodes its answer.
func (b *browser) call(session, method string, params, result any) error {
	wait := make(chan message, 1)
	b.mu.Lock()
	b.nextID++
	id := b.nextID
	b.waits[id] = wait
	text, err := json.Marshal(map[string]any{"id": id, "sessionId": session, "method": method, "params": params})
	if session == "" {
		text, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-wait:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-b.ctx.Done():
		return fmt.Errorf("%s: %w", method, b.ctx.Err())
	}
}

// page is one tab with a profile of its own.
type page struct {
	*browser
	t       *testing.T
	session string
	events  chan message
}

// open makes a tab that says it is on the given platform. Without JavaScript
// unless scripts is set.
func (b *browser) open(t *testing.T, d device, scripts bool) *page {
	t.Helper()
	var context struct{ BrowserContextID string }
	p := &page{browser: b, t: t, events: make(chan message, 256)}
	p.must("", "Target.createBrowserContext", nil, &context)
	var target struct{ TargetID string }
	p.must("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context.BrowserContextID}, &target)
	var attached struct{ SessionID string }
	p.must("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	b.mu.Lock()
	b.pages[p.session] = p.events
	b.mu.Unlock()
	agent := map[string]any{"userAgent": d.agent}
	if d.hint != "" {
		agent["userAgentMetadata"] = map[string]any{
			"platform": d.hint, "platformVersion": "", "architecture": "", "model": "", "mobile": false,
			"brands": []any{map[string]any{"brand": "Chromium", "version": "141"}},
		}
	}
	p.must(p.session, "Emulation.setUserAgentOverride", agent, nil)
	p.must(p.session, "Emulation.setScriptExecutionDisabled", map[string]any{"value": !scripts}, nil)
	p.must(p.session, "Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": d.scheme()}}}, nil)
	p.must(p.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": d.width, "height": d.height, "deviceScaleFactor": 2, "mobile": false}, nil)
	p.must(p.session, "Page.enable", nil, nil)
	p.must(p.session, "Log.enable", nil, nil)
	p.must(p.session, "Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": "*", "requestStage": "Response"}, map[string]any{"urlPattern": "https://*", "requestStage": "Request"}}}, nil)
	return p
}

func (p *page) must(session, method string, params, result any) {
	p.t.Helper()
	if err := p.call(session, method, params, result); err != nil {
		p.t.Fatal(err)
	}
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
	p.t.Helper()
	navigated := make(chan error, 1)
	go func() {
		var result struct{ ErrorText string }
		navigated <- p.call(p.session, "Page.navigate", map[string]any{"url": address}, &result)
	}()
	var a answer
	for {
		select {
		case m := <-p.events:
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
				p.t.Fatal(err)
			}
			if a.location != "" {
				return a
			}
		case <-p.ctx.Done():
			p.t.Fatalf("%s: the browser got no further than %+v", address, a)
		}
	}
}

// paused looks at one answer, or at a request that would leave this machine.
func (p *page) paused(m message, address string, a *answer) {
	p.t.Helper()
	var e struct {
		RequestID          string
		Request            struct{ URL string }
		ResponseStatusCode int
		ResponseHeaders    []struct{ Name, Value string }
	}
	if err := json.Unmarshal(m.Params, &e); err != nil {
		p.t.Fatal(err)
	}
	if e.ResponseStatusCode == 0 {
		a.followed = e.Request.URL
		p.must(p.session, "Fetch.failRequest", map[string]any{"requestId": e.RequestID, "errorReason": "BlockedByClient"}, nil)
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
	p.must(p.session, "Fetch.continueRequest", map[string]any{"requestId": e.RequestID}, nil)
}

// eval asks the page something; the debugger may where the page's own scripts
// may not.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	var result struct {
		Result           struct{ Value T }
		ExceptionDetails *struct{ Text string }
	}
	p.must(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &result)
	if result.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, result.ExceptionDetails.Text)
	}
	return result.Result.Value
}

// tab presses the key.
func (p *page) tab() {
	p.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.must(p.session, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}, nil)
	}
}

// screenshot writes what is seen to a file that go test -artifacts keeps.
func (p *page) screenshot(name string) {
	p.t.Helper()
	var shot struct{ Data string }
	p.must(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	image, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(p.t.ArtifactDir(), name+".png")
	if err := os.WriteFile(file, image, 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("screenshot: %s", file)
}
