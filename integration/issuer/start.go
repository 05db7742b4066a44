package issuer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Running is an issuer that listens on a loopback port of its own.
type Running struct {
	*Issuer
	URL string // issuer identifier and base of all documents

	server *http.Server
	served chan error    // the one result of serving
	closed chan struct{} // closed by Close

	closeOnce sync.Once
	closeErr  error
}

// Start runs an issuer on a free port of 127.0.0.1 until the context ends or the
// issuer is closed.
func Start(ctx context.Context) (*Running, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting issuer: %w", err)
	}

	url := "http://" + listener.Addr().String()
	i, err := New(Config{URL: url})
	if err != nil {
		_ = listener.Close() // err says what went wrong
		return nil, fmt.Errorf("starting issuer: %w", err)
	}

	r := &Running{
		Issuer: i,
		URL:    url,
		server: &http.Server{Handler: i.Handler(), ReadHeaderTimeout: 10 * time.Second},
		served: make(chan error, 1),
		closed: make(chan struct{}),
	}
	go func() { r.served <- r.server.Serve(listener) }()
	go func() {
		select {
		case <-ctx.Done():
			_ = r.Close() // a later call gets the same result
		case <-r.closed:
		}
	}()

	return r, nil
}

// Close stops listening and cuts all connections, also those a fault holds.
// Closing twice is harmless.
func (r *Running) Close() error {
	r.closeOnce.Do(func() {
		close(r.closed)
		r.closeErr = r.server.Close()
		if err := <-r.served; !errors.Is(err, http.ErrServerClosed) {
			r.closeErr = errors.Join(r.closeErr, err)
		}
	})

	return r.closeErr
}
