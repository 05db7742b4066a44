//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// traffic is what one case sends to one path.
type traffic struct {
	addr   string
	append func(buf []byte, n uint64) []byte // the n-th request
	status int                               // the answer that counts as right
	unit   int                               // connections; 0 means the default
}

// outcome is what one run of load gave.
type outcome struct {
	sent    int
	wrong   int // answers with another status
	failed  error
	elapsed time.Duration
	waits   []time.Duration // sorted
}

// closedLoop keeps connections busy for a time and counts answers.
func closedLoop(t traffic, connections int, d time.Duration, first uint64) outcome {
	var next atomic.Uint64
	next.Store(first)
	end := time.Now().Add(d)
	return drive(t, connections, func(send func(n uint64, due time.Time)) {
		for now := time.Now(); now.Before(end); now = time.Now() {
			send(next.Add(1)-1, now)
		}
	})
}

// fixedCount sends exactly the requests first … first+count-1.
func fixedCount(t traffic, connections, count int, first uint64) outcome {
	var next atomic.Uint64
	return drive(t, connections, func(send func(n uint64, due time.Time)) {
		for n := next.Add(1) - 1; n < uint64(count); n = next.Add(1) - 1 { //nolint:gosec // never negative
			send(first+n, time.Now())
		}
	})
}

// openLoop sends by the clock, whether or not earlier requests were answered.
// The wait of each counts from when it was due.
func openLoop(t traffic, connections int, rate float64, d time.Duration, first uint64) outcome {
	count := int(rate * d.Seconds())
	interval := time.Duration(float64(time.Second) / rate)
	type slot struct {
		n   uint64
		due time.Time
	}
	slots := make(chan slot, count)
	start := time.Now().Add(20 * time.Millisecond)
	go func() {
		// The runtime's own timers wake up to a millisecond late.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(slots)
		for i := range count {
			due := start.Add(time.Duration(i) * interval)
			if wait := time.Until(due); wait > 0 {
				ts := syscall.NsecToTimespec(int64(wait))
				_ = syscall.Nanosleep(&ts, nil) // early is as good as late: due counts
			}
			slots <- slot{first + uint64(i), due}
		}
	}()
	return drive(t, connections, func(send func(n uint64, due time.Time)) {
		for s := range slots {
			send(s.n, s.due)
		}
	})
}

// drive runs one worker for each connection.
func drive(t traffic, connections int, work func(send func(n uint64, due time.Time))) outcome {
	if t.unit > 0 {
		connections = t.unit
	}
	var (
		mu    sync.Mutex
		total outcome
		wg    sync.WaitGroup
	)
	started := time.Now()
	for range connections {
		wg.Go(func() {
			w := worker{traffic: t, waits: make([]time.Duration, 0, 1<<14)}
			defer w.close()
			work(w.send)
			mu.Lock()
			defer mu.Unlock()
			total.wrong += w.wrong
			if total.failed == nil {
				total.failed = w.failed
			}
			total.waits = append(total.waits, w.waits...)
		})
	}
	wg.Wait()
	total.elapsed = time.Since(started)
	total.sent = len(total.waits)
	slices.Sort(total.waits)
	return total
}

// worker is one client with one connection, opened anew when it breaks.
type worker struct {
	traffic
	c        *conn
	answered bool // on this connection
	buf      []byte
	waits    []time.Duration
	wrong    int
	failed   error // the first
}

func (w *worker) send(n uint64, due time.Time) {
	if err := w.try(n); err != nil {
		w.wrong++
		if w.failed == nil {
			w.failed = err
		}
		w.close()
	}
	w.waits = append(w.waits, time.Since(due))
}

func (w *worker) try(n uint64) (err error) {
	if w.c == nil {
		if w.c, err = dial(w.addr); err != nil {
			time.Sleep(time.Millisecond)
			return err
		}
	}
	w.buf = w.append(w.buf[:0], n)
	head, err := w.c.roundTrip(w.buf, nil)
	if w.answered && errors.Is(err, io.EOF) {
		// The connection was closed while it was idle, as servers may: what
		// every HTTP client does then.
		w.close()
		if w.c, err = dial(w.addr); err != nil {
			return err
		}
		head, err = w.c.roundTrip(w.buf, nil)
	}
	if err != nil {
		return err
	}
	w.answered = true
	if head.status != w.status {
		return fmt.Errorf("status %d instead of %d", head.status, w.status)
	}
	return nil
}

func (w *worker) close() {
	if w.c != nil {
		_ = w.c.Close() // nothing is owed on a connection we give up
		w.c, w.answered = nil, false
	}
}
