package state

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestBreakerLetsOneThroughWhileTheServerIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(breaker)
		down := errors.New("connection refused")
		for range breakAfter {
			if err := b.allow(); err != nil {
				t.Fatalf("before enough failures: %v", err)
			}
			b.report(t.Context(), down)
		}
		for range 3 {
			if err := b.allow(); !errors.Is(err, errBroken) {
				t.Errorf("right after: %v", err)
			}
			time.Sleep(breakFor)
			through := 0
			for range 10 {
				if b.allow() == nil {
					through++
				}
			}
			if through != 1 {
				t.Errorf("%d operations may try, want one", through)
			}
			b.report(t.Context(), down)
		}
		// An operation from before the outage may still succeed.
		b.report(t.Context(), nil)
		if err := b.allow(); err != nil {
			t.Errorf("after a success: %v", err)
		}
	})
}

func TestBreakerCountsFailuresOfTheServerOnly(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	b := new(breaker)
	for range 10 * breakAfter {
		b.report(gone, context.Canceled)
		b.report(t.Context(), redis.Nil)
		b.report(t.Context(), errors.New("i/o timeout"))
	}
	if err := b.allow(); err != nil {
		t.Errorf("failures that do not follow each other: %v", err)
	}
}
