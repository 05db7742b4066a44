// Package browser drives a real Chromium in tests, over its debugging pipe: JSON
// messages with a zero byte behind each (Chrome DevTools Protocol). It reaches
// this machine and nothing else.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// chromium is where Debian puts it.
const chromium = "/usr/bin/chromium"

// patience bounds the life of a browser, also on a busy machine.
const patience = 4 * time.Minute

// Browser is a running Chromium.
type Browser struct {
	ctx    context.Context //nolint:containedctx // of the whole process
	in     io.Writer
	mu     sync.Mutex
	nextID int
	waits  map[int]chan Message
	pages  map[string]chan Message // events, by session
}

// Message is an answer or an event of the browser.
type Message struct {
	ID        int             `json:"id"`
	SessionID string          `json:"sessionId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     *struct{ Message string }
}

// Start runs a browser until the test ends. It skips the test where there is
// none, but not where MCP_APP_CI=1 says that nobody else would ever run it.
func Start(t *testing.T) *Browser {
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
	cmd := exec.CommandContext(ctx, chromium, //nolint:gosec // a fixed program, with a folder of ours
		"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
		// Names are answered by the gateway or not at all.
		"--host-resolver-rules=MAP *.localhost 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
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
	b := &Browser{ctx: ctx, in: in, waits: make(map[int]chan Message), pages: make(map[string]chan Message)}
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

// Done is closed when the browser has lived too long.
func (b *Browser) Done() <-chan struct{} { return b.ctx.Done() }

func (b *Browser) listen(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes(0)
		if err != nil {
			return
		}
		var m Message
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
func (b *Browser) call(session, method string, params, result any) error {
	wait := make(chan Message, 1)
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
