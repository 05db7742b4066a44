package membership

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// maxAnswers bounds the answers that are remembered.
const maxAnswers = 10_000

// answer is what a service said, or that it did not.
type answer struct {
	membership Membership
	err        error
	until      time.Time
}

// answerCache remembers answers for a short time and joins equal questions.
// The zero value is ready.
type answerCache struct {
	mu      sync.Mutex
	answers map[Identity]*list.Element
	order   list.List // of *remembered, last asked first
	flights map[Identity]*flight
}

type remembered struct {
	who Identity
	answer
}

// flight is a question on its way; answer is set when done is closed.
type flight struct {
	done   chan struct{}
	answer answer
}

// get returns a remembered answer, or waits for the one to ask's question.
func (c *answerCache) get(ctx context.Context, who Identity, ask func(Identity) answer) (Membership, error) {
	c.mu.Lock()
	if element, ok := c.answers[who]; ok {
		if known := element.Value.(*remembered); time.Now().Before(known.until) {
			c.order.MoveToFront(element)
			c.mu.Unlock()
			return known.membership, known.err
		}
	}
	f, ok := c.flights[who]
	if !ok {
		f = c.launchLocked(who, ask)
	}
	c.mu.Unlock()
	select {
	case <-f.done:
		return f.answer.membership, f.answer.err
	case <-ctx.Done():
		return Membership{}, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
}

func (c *answerCache) launchLocked(who Identity, ask func(Identity) answer) *flight {
	f := &flight{done: make(chan struct{})}
	if c.flights == nil {
		c.flights = make(map[Identity]*flight)
	}
	c.flights[who] = f
	go func() {
		f.answer = ask(who)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.flights, who)
		c.storeLocked(who, f.answer)
		close(f.done)
	}()
	return f
}

func (c *answerCache) storeLocked(who Identity, a answer) {
	if element, ok := c.answers[who]; ok {
		c.order.Remove(element)
	}
	if c.answers == nil {
		c.answers = make(map[Identity]*list.Element)
	}
	c.answers[who] = c.order.PushFront(&remembered{who, a})
	for c.order.Len() > maxAnswers {
		delete(c.answers, c.order.Remove(c.order.Back()).(*remembered).who)
	}
}
