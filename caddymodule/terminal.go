package caddymodule

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// isTerminal reports whether somebody looks at what is written to w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Colours of a terminal (ECMA-48 SGR).
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint colours text for a terminal that wants it (https://no-color.org).
func paint(w io.Writer, colour, text string) string {
	if os.Getenv("NO_COLOR") != "" || !isTerminal(w) {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// progress shows on a terminal what a long command is about, and for how long.
// Elsewhere it does nothing.
type progress struct {
	w       io.Writer
	started time.Time
	stop    chan struct{}
	done    sync.WaitGroup

	mu   sync.Mutex
	what string
}

// showProgress begins; end must be called before anything else is written.
func showProgress(cmd *cobra.Command) *progress {
	p := &progress{w: cmd.ErrOrStderr(), started: time.Now(), stop: make(chan struct{})}
	if !isTerminal(p.w) {
		p.w = nil
		return p
	}
	p.done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
				p.show("")
			}
		}
	})
	return p
}

// show says what is done now; an empty text shows the time only.
func (p *progress) show(what string) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if what != "" {
		p.what = what
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s … %ds", p.what, int(time.Since(p.started).Seconds()))
}

// end takes the line away.
func (p *progress) end() {
	if p.w == nil {
		return
	}
	close(p.stop)
	p.done.Wait()
	fmt.Fprint(p.w, "\r\x1b[K")
}
