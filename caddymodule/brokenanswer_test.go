package caddymodule

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// panicOf runs a function and returns what it panics with.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// wantError checks that an answer is a JSON-RPC error for request 7.
func wantError(t *testing.T, what string, status, wantStatus int, body string) {
	t.Helper()
	if status != wantStatus || !strings.Contains(body, `"id":7,"error":{"code":-32603`) {
		t.Errorf("%s: %d %s, want %d with the error of request 7", what, status, body, wantStatus)
	}
}

// Once a part of a stream has left, an abort of the proxy must break the
// connection: swallowed, it would make the stream look complete.
func TestAnAbortedStreamBreaksTheConnection(t *testing.T) {
	w := newWire()
	got := panicOf(func() {
		_ = serveOn(t, w, filtering, func(rw http.ResponseWriter, _ *http.Request) error {
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(rw, ": hello\n\ndata: "+fullList[:30])
			panic(http.ErrAbortHandler)
		})
	})
	if got != http.ErrAbortHandler { //nolint:errorlint // a panic value
		t.Errorf("panic %v, want ErrAbortHandler", got)
	}
	if w.body.String() != ": hello\n\n" {
		t.Errorf("the client got %q", w.body.String())
	}
}

func TestAnAbortedAnswerIsABadGateway(t *testing.T) {
	for name, before := range map[string]func(http.ResponseWriter){
		"before its headers": func(http.ResponseWriter) {},
		"after its headers":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
		"in its middle": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "500")
			_, _ = io.WriteString(w, fullList[:30])
		},
	} {
		w := newWire()
		if got := panicOf(func() {
			_ = serveOn(t, w, filtering, func(rw http.ResponseWriter, _ *http.Request) error {
				before(rw)
				panic(http.ErrAbortHandler)
			})
		}); got != nil {
			t.Errorf("%s: panic %v although the client can still be told", name, got)
			continue
		}
		wantError(t, name, w.statuses[0], http.StatusBadGateway, w.body.String())
	}
}

// What is no abort is a fault of the program and not ours to hide.
func TestOtherPanicsAreNotHidden(t *testing.T) {
	for name, before := range map[string]string{"buffered": "application/json", "streamed": "text/event-stream"} {
		if got := panicOf(func() {
			_ = serveOn(t, newWire(), filtering, func(rw http.ResponseWriter, _ *http.Request) error {
				rw.Header().Set("Content-Type", before)
				rw.WriteHeader(http.StatusOK)
				panic("a fault")
			})
		}); got != "a fault" {
			t.Errorf("%s: panic %v", name, got)
		}
	}
}

func TestErrorsOfTheNextHandlerBecomeJSONRPCErrors(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
	}{
		{errors.New("dial tcp 10.0.0.7:3000: connection refused"), http.StatusBadGateway},
		{caddyhttp.Error(http.StatusGatewayTimeout, errors.New("slow")), http.StatusGatewayTimeout},
		{caddyhttp.Error(http.StatusServiceUnavailable, errors.New("no upstreams")), http.StatusServiceUnavailable},
	} {
		w := newWire()
		if err := serveOn(t, w, filtering, func(http.ResponseWriter, *http.Request) error { return tt.err }); err != nil {
			t.Fatal(err)
		}
		wantError(t, tt.err.Error(), w.statuses[0], tt.status, w.body.String())
		if strings.Contains(w.body.String(), "10.0.0.7") {
			t.Errorf("the answer gives the inside away: %s", w.body.String())
		}
	}
}

// A handler may fail after it has begun; as long as nothing has left, the client
// can still be told.
func TestAnErrorBehindTheHeadersOfABufferedAnswerIsABadGateway(t *testing.T) {
	w := newWire()
	err := serveOn(t, w, filtering, func(rw http.ResponseWriter, _ *http.Request) error {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, fullList[:30])
		return errors.New("the server broke off")
	})
	if err != nil || len(w.statuses) == 0 {
		t.Fatalf("the client is told nothing: %v, statuses %v", err, w.statuses)
	}
	wantError(t, "the answer", w.statuses[0], http.StatusBadGateway, w.body.String())
}

func TestNoAnswerAtAllIsABadGateway(t *testing.T) {
	w := newWire()
	if err := serveOn(t, w, filtering, func(http.ResponseWriter, *http.Request) error { return nil }); err != nil {
		t.Fatal(err)
	}
	wantError(t, "no answer", w.statuses[0], http.StatusBadGateway, w.body.String())
}

// The proxy is told to stop once an answer has been withheld.
func TestAnAnswerOverTheLimitIsWithheldAndItsSourceStopped(t *testing.T) {
	for framing, status := range map[string]int{"application/json": http.StatusBadGateway, "text/event-stream": http.StatusOK} {
		w := newWire()
		written := 0
		err := serveOn(t, w, filtering+"limits {\nmessage 10KiB\nevent 10KiB\n}", func(rw http.ResponseWriter, _ *http.Request) error {
			rw.Header().Set("Content-Type", framing)
			for range 100 {
				n, err := io.WriteString(rw, "data: "+strings.Repeat("secret", 200))
				written += n
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", framing, err)
		}
		if written > 12<<10 {
			t.Errorf("%s: %d bytes were taken", framing, written)
		}
		wantError(t, framing, w.statuses[0], status, w.body.String())
		if strings.Contains(w.body.String(), "secret") {
			t.Errorf("%s: the client got a part of it", framing)
		}
	}
}

func TestHeadersAboutTheOldBytesGoWithThem(t *testing.T) {
	stale := http.Header{
		"Content-Type": {"application/json"}, "Etag": {`"1"`}, "Content-Length": {"1"}, "Accept-Ranges": {"bytes"}, "Content-Md5": {"x"}, "Digest": {"x"},
		"Content-Digest": {"x"}, "Repr-Digest": {"x"}, "Last-Modified": {"x"}, "Expires": {"x"}, "Cache-Control": {"public, max-age=60, no-transform"},
	}
	changed := newWire()
	if err := serveOn(t, changed, filtering, answering(http.StatusOK, stale.Clone(), fullList)); err != nil {
		t.Fatal(err)
	}
	for name := range stale {
		got := changed.header.Get(name)
		switch name {
		case "Content-Type", "Content-Length":
		case "Cache-Control":
			if got != "private, no-store, no-transform" {
				t.Errorf("Cache-Control %q", got)
			}
		default:
			if got != "" {
				t.Errorf("%s: %q is left", name, got)
			}
		}
	}
	const other = `{"jsonrpc":"2.0","id":7,"result":{"x":1.0}}`
	same := newWire()
	if err := serveOn(t, same, filtering, answering(http.StatusOK, stale.Clone(), other)); err != nil {
		t.Fatal(err)
	}
	if same.body.String() != other || same.header.Get("Etag") != `"1"` || same.header.Get("Content-Digest") != "x" {
		t.Errorf("unchanged bytes lost their headers: %v", same.header)
	}
}
