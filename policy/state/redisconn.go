package state

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// breaker keeps a server that is down from delaying every request by a
// timeout. After breakAfter failures in a row it lets one operation through
// per breakFor and refuses the others at once. The zero value is ready.
type breaker struct {
	mu       sync.Mutex
	failures int
	next     time.Time // when the next operation may try; zero lets all through
}

const (
	breakAfter = 3
	breakFor   = WatchInterval
)

var errBroken = errors.New("server was down a moment ago")

// allow refuses, or lets an operation through that must then be reported.
func (b *breaker) allow() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next.IsZero() {
		return nil
	}
	now := time.Now()
	if now.Before(b.next) {
		return errBroken
	}
	b.next = now.Add(breakFor)

	return nil
}

// report takes the result of an operation. ctx is the caller's own: that it
// ended says nothing about the server.
func (b *breaker) report(ctx context.Context, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var answer redis.Error
	switch {
	case err == nil || errors.As(err, &answer):
		// It answers, if only with an error.
		b.failures, b.next = 0, time.Time{}
	case ctx.Err() != nil:
	default:
		if b.failures++; b.failures >= breakAfter {
			b.next = time.Now().Add(breakFor)
		}
	}
}

// quietDialer dials, and hands out a failure as a connection that fails at the
// first use: the client library prints a line on standard error for every
// failed dial, and there are many while a server is down. Callers get the same
// error either way.
func quietDialer(secure *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}}

	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var conn net.Conn
		var err error
		if secure != nil {
			conn, err = (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, network, addr)
		} else {
			conn, err = dialer.DialContext(ctx, network, addr)
		}
		if err != nil {
			return failedConn{err: err}, nil
		}

		return conn, nil
	}
}

// failedConn is a connection that was never made.
type failedConn struct {
	err error
}

func (c failedConn) Read([]byte) (int, error)         { return 0, c.err }
func (c failedConn) Write([]byte) (int, error)        { return 0, c.err }
func (c failedConn) Close() error                     { return nil }
func (c failedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c failedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c failedConn) SetDeadline(time.Time) error      { return nil }
func (c failedConn) SetReadDeadline(time.Time) error  { return nil }
func (c failedConn) SetWriteDeadline(time.Time) error { return nil }

// Interface guard
var _ net.Conn = failedConn{}
