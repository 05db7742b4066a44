package caddymodule

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// filtering is an endpoint that shows one tool and no authentication.
const filtering = "auth {\nmode none\n}\npolicy {\ntool shown\n}\n"

// A list with a tool that must not be shown, and the request for it.
const (
	listRequest = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	fullList    = `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"shown"},{"name":"secret"}]}}`
)

// isFiltered checks that an answer has the visible tool and not the other.
func isFiltered(t testing.TB, what, body string) {
	t.Helper()
	if strings.Contains(body, "secret") || !strings.Contains(body, `"shown"`) {
		t.Errorf("%s: %s", what, body)
	}
}

// wire is a writer that notes what reaches the client, and when.
type wire struct {
	header   http.Header
	informed []http.Header // of the answers before the answer
	statuses []int
	events   []string // "header", "write", "flush" in their order
	body     strings.Builder
	deadline time.Time
}

func newWire() *wire { return &wire{header: http.Header{}} }

func (w *wire) Header() http.Header { return w.header }

func (w *wire) WriteHeader(status int) {
	w.statuses = append(w.statuses, status)
	if status < 200 {
		w.informed = append(w.informed, w.header.Clone())
	}
	w.events = append(w.events, "header")
}

func (w *wire) Write(p []byte) (int, error) {
	w.events = append(w.events, "write")
	return w.body.Write(p)
}

func (w *wire) FlushError() error {
	w.events = append(w.events, "flush")
	return nil
}

func (w *wire) SetWriteDeadline(deadline time.Time) error {
	w.deadline = deadline
	return nil
}

// serveOn is serve with a writer of the test's own.
func serveOn(t testing.TB, w http.ResponseWriter, lines string, next caddyhttp.HandlerFunc) error {
	t.Helper()
	return mustLoad(t, lines).ServeHTTP(w, prepared(post(t, listRequest, nil), w), next)
}

// Caddy's writers implement io.ReaderFrom, and io.Copy takes that way around
// Write (caddy 6546).
func TestCopiedAnswersAreRewritten(t *testing.T) {
	for name, copyTo := range map[string]func(w http.ResponseWriter, r io.Reader) error{
		"io.Copy":  func(w http.ResponseWriter, r io.Reader) error { _, err := io.Copy(w, r); return err },
		"ReadFrom": func(w http.ResponseWriter, r io.Reader) error { _, err := w.(io.ReaderFrom).ReadFrom(r); return err },
		"bytes": func(w http.ResponseWriter, r io.Reader) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, 1))
			return err
		},
	} {
		for framing, body := range map[string]string{"application/json": fullList, "text/event-stream": "data: " + fullList + "\n\n"} {
			w := serve(t, mustLoad(t, filtering), post(t, listRequest, nil), func(w http.ResponseWriter, _ *http.Request) error {
				w.Header().Set("Content-Type", framing)
				return copyTo(w, struct{ io.Reader }{strings.NewReader(body)})
			})
			isFiltered(t, name+", "+framing, w.Body.String())
		}
	}
}

// The proxy flushes whenever it likes; a buffered answer is not ready for it
// (caddy 6144).
func TestAFlushDoesNotCommitABufferedAnswer(t *testing.T) {
	w := newWire()
	err := serveOn(t, w, filtering, func(rw http.ResponseWriter, _ *http.Request) error {
		flusher, ok := rw.(http.Flusher)
		if !ok {
			t.Fatal("not even an http.Flusher")
		}
		flusher.Flush()
		rw.Header().Set("Content-Type", "application/json")
		for _, part := range []string{fullList[:20], fullList[20:]} {
			if _, err := io.WriteString(rw, part); err != nil {
				t.Error(err)
			}
			if err := http.NewResponseController(rw).Flush(); err != nil {
				t.Errorf("flushing: %v", err)
			}
			flusher.Flush()
		}
		if len(w.events) != 0 {
			t.Errorf("before the end the client got %v", w.events)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	isFiltered(t, "the answer", w.body.String())
	if got := w.header.Get("Content-Length"); got != strconv.Itoa(w.body.Len()) {
		t.Errorf("Content-Length %s of %d bytes", got, w.body.Len())
	}
}

// Headers of a stream leave before its first byte, and every event whole.
func TestAStreamIsSentEventByEvent(t *testing.T) {
	w := newWire()
	err := serveOn(t, w, filtering, func(rw http.ResponseWriter, _ *http.Request) error {
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.WriteHeader(http.StatusOK)
		if strings.Join(w.events, " ") != "header flush" {
			t.Errorf("after the headers the client got %v", w.events)
		}
		event := "id: 1\ndata: " + fullList + "\n\n"
		for i := range len(event) {
			if w.body.Len() != 0 {
				t.Errorf("after %d bytes of the event the client got %q", i, w.body.String())
			}
			if _, err := io.WriteString(rw, event[i:i+1]); err != nil {
				t.Error(err)
			}
		}
		isFiltered(t, "the event", w.body.String())
		if w.events[len(w.events)-1] != "flush" {
			t.Errorf("the event is not flushed: %v", w.events)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(w.body.String(), "id: 1\n") {
		t.Errorf("the id is gone: %q", w.body.String())
	}
}

func TestInformationalAnswersPassAndDoNotCount(t *testing.T) {
	w := newWire()
	err := serveOn(t, w, filtering, func(rw http.ResponseWriter, r *http.Request) error {
		rw.WriteHeader(http.StatusContinue)
		rw.Header().Set("Link", "</style.css>; rel=preload")
		rw.WriteHeader(http.StatusEarlyHints)
		if hints := w.informed[1]; hints.Get("Link") == "" {
			t.Errorf("the hints hold %v", hints)
		}
		rw.Header().Del("Link")
		return answering(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, fullList)(rw, r)
	})
	if err != nil || len(w.statuses) != 3 || w.statuses[0] != 100 || w.statuses[1] != 103 || w.statuses[2] != 200 {
		t.Errorf("statuses %v, %v", w.statuses, err)
	}
	isFiltered(t, "the answer", w.body.String())
}

// An informational answer is sent as it stands when the handler says so, before
// anything looks at the headers of the answer itself.
func TestInformationalAnswersCarryLinksOnly(t *testing.T) {
	w := newWire()
	w.header.Set("X-Of-The-Site", "1")
	err := serveOn(t, w, filtering, func(rw http.ResponseWriter, r *http.Request) error {
		own := rw.Header().Clone()
		for name, value := range map[string]string{
			"Link": "</style.css>; rel=preload", "Mcp-Session-Id": "secret", "Www-Authenticate": "Bearer", "Access-Control-Allow-Origin": "*",
			"Set-Cookie": "a=b", "Cache-Control": "public", "Etag": "1",
		} {
			rw.Header().Set(name, value)
		}
		rw.WriteHeader(http.StatusEarlyHints)
		clear(rw.Header()) // as a proxy does
		maps.Copy(rw.Header(), own)
		return answering(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, fullList)(rw, r)
	})
	if err != nil || len(w.informed) != 1 || len(w.informed[0]) != 1 || w.informed[0].Get("Link") == "" {
		t.Errorf("informed with %v, %v, want the link alone", w.informed, err)
	}
	if w.header.Get("X-Of-The-Site") != "1" || w.header.Get("Link") != "" {
		t.Errorf("the answer itself has %v", w.header)
	}
}

// No body is invented where there must be none (caddy 5059, 5849).
func TestAnswersWithoutABodyStayWithoutOne(t *testing.T) {
	for _, status := range []int{http.StatusNoContent, http.StatusNotModified, http.StatusResetContent, http.StatusAccepted} {
		w := newWire()
		err := serveOn(t, w, filtering, func(rw http.ResponseWriter, _ *http.Request) error {
			rw.Header().Set("Vary", "Accept")
			rw.WriteHeader(status)
			return nil
		})
		if err != nil || len(w.statuses) != 1 || w.statuses[0] != status || w.body.Len() != 0 || w.header.Get("Vary") != "Accept" {
			t.Errorf("%d: statuses %v, %v, body %q, header %v", status, w.statuses, err, w.body.String(), w.header)
		}
	}
}

func TestHEADIsNoMethodOfTheEndpoint(t *testing.T) {
	m := mustLoad(t, filtering)
	for _, method := range []string{http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodConnect, http.MethodTrace, "QUERY"} {
		r := post(t, "", nil)
		r.Method = method
		w := serve(t, m, r, func(http.ResponseWriter, *http.Request) error {
			t.Errorf("%s went on", method)
			return nil
		})
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestTheFirstStatusCounts(t *testing.T) {
	w := newWire()
	err := serveOn(t, w, filtering, func(rw http.ResponseWriter, _ *http.Request) error {
		rw.WriteHeader(http.StatusCreated)
		rw.WriteHeader(http.StatusInternalServerError)
		_, err := io.WriteString(rw, fullList)
		return err
	})
	if err != nil || len(w.statuses) != 1 || w.statuses[0] != http.StatusCreated {
		t.Errorf("statuses %v, %v", w.statuses, err)
	}
	isFiltered(t, "the answer", w.body.String())
}

func TestControlsReachTheConnectionButDoNotTakeIt(t *testing.T) {
	w := newWire()
	err := serveOn(t, w, filtering, func(rw http.ResponseWriter, r *http.Request) error {
		control := http.NewResponseController(rw)
		if err := control.SetWriteDeadline(time.Unix(1, 0)); err != nil {
			t.Errorf("setting a deadline: %v", err)
		}
		if _, _, err := control.Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("hijacking: %v, want ErrNotSupported", err)
		}
		return answering(http.StatusOK, nil, "")(rw, r)
	})
	if err != nil || !w.deadline.Equal(time.Unix(1, 0)) {
		t.Errorf("deadline %v, %v", w.deadline, err)
	}
}
