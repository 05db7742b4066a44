package caddymodule

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// countedConn counts what is written by itself.
type countedConn struct {
	net.Conn
	writes *atomic.Int32
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// proxyBody is a body as reverse_proxy hands it over: of a kind of its own.
type proxyBody struct {
	io.Reader
	closed bool
}

func (w *proxyBody) Close() error {
	w.closed = true
	return nil
}

func TestAMessageLeavesTogetherWithItsHeaders(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
	}))
	t.Cleanup(server.Close)
	var writes atomic.Int32
	transport := upstreamTransport{&reverseproxy.HTTPTransport{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return countedConn{conn, &writes}, err
		},
	}}}
	t.Cleanup(transport.Transport.CloseIdleConnections)
	send := func(body string, length int64) (*proxyBody, error) {
		t.Helper()
		w := &proxyBody{Reader: strings.NewReader(body)}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, w)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		writes.Store(0)
		resp, err := transport.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		return w, err
	}
	small := strings.Repeat("x", 1000)
	if w, err := send(small, 1000); err != nil || got != small || writes.Load() != 1 || !w.closed {
		t.Errorf("%d of %d bytes in %d writes, closed %v: %v", len(got), len(small), writes.Load(), w.closed, err)
	}
	for _, size := range []int{maxOneWrite, maxOneWrite + 1, 3 << 20} {
		large := strings.Repeat("y", size)
		if w, err := send(large, int64(size)); err != nil || got != large || !w.closed {
			t.Errorf("%d of %d bytes, closed %v: %v", len(got), size, w.closed, err)
		}
	}
	// What is shorter than it was announced is not sent at all.
	got = ""
	if w, err := send("half", 8); !errors.Is(err, io.ErrUnexpectedEOF) || writes.Load() != 0 || !w.closed {
		t.Errorf("half a message: %d writes, closed %v: %v", writes.Load(), w.closed, err)
	}
	if _, err := send("of unknown length", -1); err != nil || got != "of unknown length" {
		t.Errorf("%q, %v", got, err)
	}
}
