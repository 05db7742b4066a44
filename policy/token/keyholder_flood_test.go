package token

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestEndlessAndOversizedBodiesAreCutOff(t *testing.T) {
	var sent atomic.Int64
	for name, handler := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			chunk := []byte(strings.Repeat(" ", 32<<10))
			for r.Context().Err() == nil {
				n, err := w.Write(chunk)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, zeros{}, 64<<20)
			_ = z.Close()
		},
		"endless error page": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				n, err := w.Write(make([]byte, 32<<10))
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newKeyServer(t)
			server.serve(handler)
			k := newHolder(t, KeyConfig{JWKSURL: server.URL})
			k.Start()
			eventually(t, "the fetch fails", func() bool { return k.Stats().Failures > 0 })
			k.Close()
		})
	}
	// What the sockets buffer comes on top of what is read.
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were taken from endless answers", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestSlowBodyHoldsNobodyUp lets the key server stop in the middle of its
// answer: callers with their own deadline leave, and so does Close.
func TestSlowBodyHoldsNobodyUp(t *testing.T) {
	server := newKeyServer(t)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	defer close(release)
	server.serve(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"keys":[`)
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)

	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := v.Verify(ctx, k1().token())
		result <- err
	}()
	<-begun
	cancel()
	wantKind(t, <-result, Unavailable)
	k.Close()
}

// TestFloodOfUnknownKidsCostsOneFetch is what an attacker can do without any
// token: invent key ids as fast as the network allows.
func TestFloodOfUnknownKidsCostsOneFetch(t *testing.T) {
	server := newKeyServer(t, k1())
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)
	if _, err := v.Verify(t.Context(), k1().token()); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()

	forged := newEC("")
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			for i := range 100 {
				forged := forged
				forged.kid = fmt.Sprintf("%d-%d", worker, i)
				if _, err := v.Verify(t.Context(), forged.token()); err == nil {
					t.Error("a forged token was accepted")
				}
			}
		})
	}
	wg.Wait()

	if n := server.fetches.Load(); n > 2 {
		t.Errorf("2000 unknown kids caused %d fetches, want at most 2 in all", n)
	}
	eventually(t, "the number of goroutines is as before", func() bool { return runtime.NumGoroutine() <= before })
	if _, err := v.Verify(t.Context(), k1().token(map[string]any{"jti": "x"})); err != nil {
		t.Fatal(err)
	}
}

func TestManyCallersShareTheFirstFetch(t *testing.T) {
	server := newKeyServer(t)
	release := make(chan struct{})
	server.serve(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = w.Write(jwks(k1()))
	})
	k := newHolder(t, KeyConfig{JWKSURL: server.URL})
	v := verifierFor(t, k)

	var good atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, err := v.Verify(t.Context(), k1().token(map[string]any{"jti": fmt.Sprint(i)})); err == nil {
				good.Add(1)
			}
		})
	}
	eventually(t, "all callers wait", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.flight != nil && k.flight.waiters == 50
	})
	close(release)
	wg.Wait()
	if good.Load() != 50 || server.fetches.Load() != 1 {
		t.Fatalf("%d of 50 accepted after %d fetches", good.Load(), server.fetches.Load())
	}
}

func TestManyHoldersLeaveNoGoroutines(t *testing.T) {
	server := newKeyServer(t, k1())
	before := runtime.NumGoroutine()
	for range 50 {
		k := must(NewKeyHolder(KeyConfig{JWKSURL: server.URL}))
		k.Start()
		k.Start()
		eventually(t, "the first fetch", func() bool { return k.Stats().State == Fresh })
		k.Close()
		k.Close()
	}
	must(NewKeyHolder(KeyConfig{JWKSURL: server.URL})).Close() // never started
	eventually(t, "the number of goroutines is as before", func() bool { return runtime.NumGoroutine() <= before+2 })
}
