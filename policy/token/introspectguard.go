package token

import (
	"context"
	"sync"
	"time"
)

// failuresToPause is how many calls must fail one after the other before an
// endpoint is left alone for a while.
const failuresToPause = 3

// circuit leaves a failing endpoint alone: after some failures in a row calls
// are refused at once, for a pause that grows from 1 to 30 seconds. Then one
// call tries; it ends the state or begins the next pause.
type circuit struct {
	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // end of the pause
	trying   bool
	reason   string // of the last failure
	status   int
	code     string
}

// allow returns nil if the endpoint may be called. Then record or abandon must
// follow.
func (c *circuit) allow(now time.Time) *callError {
	c.mu.Lock()
	defer c.mu.Unlock()

	wait := c.until.Sub(now)
	switch {
	case c.failures < failuresToPause:
		return nil
	case wait <= 0 && !c.trying:
		c.trying = true
		return nil
	}

	return &callError{
		reason: "not asked, because it failed a moment ago: " + c.reason,
		status: c.status, code: c.code, retryAfter: wait,
	}
}

// record takes the outcome of a call; nil is a success.
func (c *circuit) record(now time.Time, failure *callError) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.trying = false
	if failure == nil || !failure.counts {
		c.failures, c.until = 0, time.Time{}
		return
	}
	// Calls that ran when the pause began do not prolong it.
	if c.failures < failuresToPause || !now.Before(c.until) {
		c.failures++
	}
	c.reason, c.status, c.code = failure.reason, failure.status, failure.code

	var pause time.Duration
	if failure.retryAfter > 0 {
		c.failures = max(c.failures, failuresToPause)
		pause = min(failure.retryAfter, lastRetry)
	} else if c.failures >= failuresToPause && !now.Before(c.until) {
		pause = jitter(backoff(firstRetry, lastRetry, c.failures-failuresToPause+1))
	}
	if end := now.Add(pause); end.After(c.until) {
		c.until = end
	}
}

// abandon is for a call that nobody waited for.
func (c *circuit) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.trying = false
}

// state reports whether the endpoint is left alone, or being tried again, and
// why.
func (c *circuit) state() (down bool, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.failures < failuresToPause {
		return false, ""
	}

	return true, c.reason
}

// gate bounds the calls that run at once. A quarter of them is kept free for
// tokens that were good a moment ago, so that a flood of invented ones does not
// lock their bearers out.
type gate struct {
	all, strangers chan struct{}
}

func newGate(limit int) gate {
	return gate{all: make(chan struct{}, limit), strangers: make(chan struct{}, limit-limit/4)}
}

// enter waits for a place and reports whether it got one, which leave gives
// back.
func (g gate) enter(ctx context.Context, known bool) bool {
	if !known {
		select {
		case g.strangers <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	select {
	case g.all <- struct{}{}:
		return true
	case <-ctx.Done():
		if !known {
			<-g.strangers
		}
		return false
	}
}

func (g gate) leave(known bool) {
	<-g.all
	if !known {
		<-g.strangers
	}
}
