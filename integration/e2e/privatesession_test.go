package e2e

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestThePrivateSessionIsClosedAgain(t *testing.T) {
	server := pickyServer()
	g := startBefore(t, server, withSettings)
	c := g.caller(t, legacy, viewer("acme"))
	eventually(t, "the private session is closed", func() bool {
		_, closed := server.private()
		return len(closed) == 1
	})
	if opened, closed := server.private(); !slices.Equal(opened, closed) {
		t.Errorf("private sessions opened %q, closed %q", opened, closed)
	}
	if a := c.call(t, "tools/list", "", nil); !a.message.Get("result").Exists() {
		t.Errorf("the client's own session: %s", a)
	}
}

// The client leaves while the private session is being opened: nobody waits for
// it any more, and it must not stay behind on the server.
func TestThePrivateSessionIsClosedWhenTheClientLeaves(t *testing.T) {
	inner := pickyServer()
	stuck := make(chan struct{})
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(string(body), "notifications/initialized") {
			close(stuck)
			<-r.Context().Done() // a server that takes its time
			return
		}
		inner.ServeHTTP(w, r)
	})
	g := startBefore(t, server, withSettings)
	c := g.bearer(t, viewer("acme"))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		<-stuck
		leave()
	}()
	response, err := c.client.Do(c.request(t, http.MethodPost, c.url, initializeBody, nil).WithContext(ctx))
	if err == nil { // the headers of a stream come before its content
		_, _ = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	happens(t, "the private session is begun", stuck)
	opened, _ := inner.private()
	if len(opened) != 1 {
		t.Fatalf("private sessions %q, want one", opened)
	}
	eventually(t, "the private session is closed", func() bool {
		_, closed := inner.private()
		return slices.Equal(opened, closed)
	})
}

// The question is bounded as a whole: a server that never lets go of a session
// holds no client up.
func TestAServerThatDoesNotEndSessionsHoldsNobodyUp(t *testing.T) {
	inner := pickyServer()
	over := make(chan struct{})
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		}
		inner.ServeHTTP(w, r)
	})
	g := startBefore(t, server, withSettings)
	defer close(over)
	c := g.bearer(t, person{"boss@acme", "acme", []string{"mcp.use"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response, err := c.client.Do(c.request(t, http.MethodPost, c.url, initializeBody, nil).WithContext(ctx))
	if err != nil {
		t.Fatalf("initialize: %v", err)
	}
	if a := readAnswer(t, response); !a.message.Get("result").Exists() {
		t.Errorf("initialize is answered with %s", a)
	}
}
