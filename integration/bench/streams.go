//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// streamFigures are what one path does to server-sent events.
type streamFigures struct {
	Path  string `json:"path"`
	First spread `json:"first_event_us"`
	P50   spread `json:"event_delay_p50_us"`
	P99   spread `json:"event_delay_p99_us"`
	CPU   spread `json:"cpu_us_per_event"`
}

// streamEvents is the number of events in one answer, a millisecond apart.
const streamEvents = 1000

// measureStreams reads answers of small events that say when they left.
func (b *bench) measureStreams() ([]streamFigures, error) {
	events := streamEvents
	if b.duration < time.Second {
		events = 200
	}
	var made []streamFigures
	taken := map[string]*struct{ first, p50, p99, cpu []float64 }{}
	for range b.rounds {
		for _, p := range b.caddies() {
			s := taken[p.name]
			if s == nil {
				s = new(struct{ first, p50, p99, cpu []float64 })
				taken[p.name] = s
			}
			before := p.cpu()
			first, delays, err := b.readStream(p, events)
			if err != nil {
				return nil, fmt.Errorf("%s: reading a stream: %w", p.name, err)
			}
			slices.Sort(delays)
			s.first = append(s.first, microseconds(first))
			s.p50 = append(s.p50, microseconds(quantile(delays, 0.5)))
			s.p99 = append(s.p99, microseconds(quantile(delays, 0.99)))
			s.cpu = append(s.cpu, microseconds(p.cpu()-before)/float64(events))
		}
	}
	for _, p := range b.caddies() {
		s := taken[p.name]
		made = append(made, streamFigures{p.name, spreadOf(s.first), spreadOf(s.p50), spreadOf(s.p99), spreadOf(s.cpu)})
	}
	return made, nil
}

// readStream asks for one stream and returns the wait for its first event and
// the delay of each.
func (b *bench) readStream(p *path, events int) (first time.Duration, delays []time.Duration, err error) {
	c, err := dial(p.addr)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = c.Close() }()
	m := b.call(p, b.rs256[:10])
	m.query = fmt.Sprintf("?events=%d&every=1ms", events)
	start := time.Now()
	if _, err := c.Write(m.append(nil, b.first())); err != nil {
		return 0, nil, err
	}
	if err := c.SetDeadline(start.Add(time.Minute)); err != nil {
		return 0, nil, err
	}
	if head, err := c.readHead(); err != nil || head.status != 200 {
		return 0, nil, fmt.Errorf("status %d: %w", head.status, err)
	}
	var chunk bytes.Buffer
	for len(delays) < events {
		chunk.Reset()
		if n, err := c.copyChunk(&chunk); err != nil || n == 0 {
			return 0, nil, fmt.Errorf("after %d events: %w", len(delays), err)
		}
		now := time.Now()
		for event := range bytes.SplitSeq(chunk.Bytes(), []byte("\n\n")) {
			_, rest, found := bytes.Cut(event, []byte(`"message":"`))
			if !found {
				continue
			}
			sent, err := strconv.ParseInt(string(rest[:bytes.IndexByte(rest, '"')]), 10, 64)
			if err != nil {
				return 0, nil, err
			}
			if delays == nil {
				first = now.Sub(start)
			}
			delays = append(delays, now.Sub(time.Unix(0, sent)))
		}
	}
	return first, delays, nil
}

// idleFigures are the memory that open streams take.
type idleFigures struct {
	Path    string  `json:"path"`
	Streams int     `json:"streams"`
	Before  float64 `json:"memory_before_mib"`
	Open    float64 `json:"memory_open_mib"`
	Failed  int     `json:"failed"`
}

// measureIdle opens streams that say nothing, and reads the memory of the proxy.
// Each path gets a fresh process, so that nothing else is in its memory.
func (b *bench) measureIdle(ctx context.Context, count int) ([]idleFigures, error) {
	var made []idleFigures
	for _, old := range b.caddies() {
		if old.proxy == nil {
			continue
		}
		p, err := b.fresh(ctx, old.name, nil)
		if err != nil {
			return nil, err
		}
		// One call, so that keys and connections are there in both figures.
		b.drive(p, measure{traffic: func(p *path) traffic {
			m := b.call(p, b.rs256[:10])
			return traffic{addr: p.addr, append: m.append, status: 200}
		}}, 200*time.Millisecond)
		f := idleFigures{Path: p.name, Streams: count, Before: memory(p.proxy.Process.Pid, "VmRSS")}
		open, failed := b.openStreams(p, count)
		time.Sleep(2 * time.Second)
		f.Failed, f.Open = failed, memory(p.proxy.Process.Pid, "VmRSS")
		made = append(made, f)
		for _, c := range open {
			_ = c.Close()
		}
		p.proxy.stop()
	}
	return made, nil
}

// openStreams opens idle streams, each of them proven by its first event.
func (b *bench) openStreams(p *path, count int) (open []*conn, failed int) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		first = b.first()
		next  = make(chan uint64)
	)
	for range 32 {
		wg.Go(func() {
			for n := range next {
				c, err := b.openStream(p, n)
				mu.Lock()
				if err != nil {
					failed++
				} else {
					open = append(open, c)
				}
				mu.Unlock()
			}
		})
	}
	for n := range uint64(count) { //nolint:gosec // never negative
		next <- first + n
	}
	close(next)
	wg.Wait()
	return open, failed
}

func (b *bench) openStream(p *path, n uint64) (*conn, error) {
	c, err := dial(p.addr)
	if err != nil {
		return nil, err
	}
	m := message{host: p.addr, token: pick(b.es256), method: "subscriptions/listen", params: `"notifications":{"toolsListChanged":true},`}
	if _, err = c.Write(m.append(nil, n)); err == nil {
		var head answerHead
		if head, err = c.readHead(); err == nil && head.status != 200 {
			err = fmt.Errorf("status %d", head.status)
		}
	}
	if err == nil {
		var chunk bytes.Buffer
		_, err = c.copyChunk(&chunk)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// caddies are the paths that are compared in waits and memory.
func (b *bench) caddies() []*path {
	return slices.DeleteFunc(slices.Clone(b.paths), func(p *path) bool { return !slices.Contains(caddies, p.name) })
}

// fresh starts one more proxy of a kind.
func (b *bench) fresh(ctx context.Context, name string, rules []int) (*path, error) {
	s := b.site
	s.Rules = rules
	if name == ours {
		return startCaddy(ctx, ours, b.caddy, oursConfig, s)
	}
	return startCaddy(ctx, stock, b.plain, stockConfig, s)
}

// reloadFigures are what callers notice of reloads.
type reloadFigures struct {
	Path    string  `json:"path"`
	Reloads int     `json:"reloads"`
	Sent    int     `json:"requests"`
	Wrong   int     `json:"wrong_answers"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	Max     float64 `json:"max_us"`
}

// measureReload sends at a steady rate while the configuration is loaded anew
// twice a second.
func (b *bench) measureReload() ([]reloadFigures, error) {
	var made []reloadFigures
	for _, p := range b.caddies() {
		if p.proxy == nil {
			continue
		}
		config, err := os.ReadFile(p.config)
		if err != nil {
			return nil, err
		}
		m := b.call(p, b.rs256[:10])
		done := make(chan struct{})
		reloads := make(chan int)
		var failed error
		go func() {
			count := 0
			for {
				select {
				case <-done:
					reloads <- count
					return
				case <-time.After(500 * time.Millisecond):
				}
				// A comment makes it another configuration: the same one is not loaded.
				changed := strings.Replace(string(config), "level ERROR", "level ERROR\n\t\tinclude reload."+strconv.Itoa(count), 1)
				if failed = load(p.admin, changed); failed == nil {
					count++
				}
			}
		}()
		out := openLoop(traffic{addr: p.addr, append: m.append, status: 200}, 64, 1000, 4*b.duration, b.first())
		close(done)
		f := reloadFigures{Path: p.name, Reloads: <-reloads, Sent: out.sent, Wrong: out.wrong}
		if failed != nil {
			return nil, fmt.Errorf("%s: reload: %w", p.name, failed)
		}
		if out.wrong > 0 {
			fmt.Printf("  %s: %d of %d answers wrong over reloads, the first: %v\n", p.name, out.wrong, out.sent, out.failed)
		}
		f.P50, f.P99, f.Max = microseconds(quantile(out.waits, 0.5)), microseconds(quantile(out.waits, 0.99)), microseconds(quantile(out.waits, 1))
		made = append(made, f)
	}
	return made, nil
}

// load gives a running Caddy a configuration.
func load(admin, config string) error {
	r, err := http.NewRequest(http.MethodPost, "http://"+admin+"/load", strings.NewReader(config)) //nolint:noctx // ends with the run
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "text/caddyfile")
	answered, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answered.Body.Close() }()
	if answered.StatusCode != http.StatusOK {
		var text bytes.Buffer
		_, _ = text.ReadFrom(answered.Body)
		return fmt.Errorf("status %d: %s", answered.StatusCode, text.String())
	}
	return nil
}

// ratio is not a number where there is nothing to compare with.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}
