// Package fault is a tiny TCP relay that makes the connections between two real
// programs fail in a chosen way.
package fault

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Rule says what becomes of connections. The zero value lets everything through.
type Rule struct {
	// Refuse accepts no connection: the port is closed.
	Refuse bool
	// Then is what happens once After bytes of an answer were let through.
	Then Action
	// After is a number of bytes of each connection's answers.
	After int64
	// Drip lets the answer through one byte at a time, with this pause between.
	Drip time.Duration
	// Idle closes connections that carry nothing for so long, as a server with a
	// short keep-alive does.
	Idle time.Duration
}

// Action is an end for an answer.
type Action int

// The actions.
const (
	Pass    Action = iota
	Hang           // nothing more comes, and nothing is closed
	Close          // an orderly end in the wrong place
	Reset          // a broken connection
	Garbage        // bytes of no protocol, and then the end
)

// Injector relays connections to one address.
type Injector struct {
	// Addr is where it listens, on loopback, also while it refuses.
	Addr string

	target string
	count  atomic.Int64

	mu       sync.Mutex
	rule     Rule
	listener net.Listener
	open     map[net.Conn]struct{}
	running  sync.WaitGroup
	closed   bool
}

// New listens on a free port of loopback.
func New(target string) (*Injector, error) {
	i := &Injector{target: target, open: make(map[net.Conn]struct{})}
	listener, err := listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i.Addr = listener.Addr().String()
	i.serveLocked(listener)
	return i, nil
}

// Connections counts those that were accepted.
func (i *Injector) Connections() int64 { return i.count.Load() }

// Set puts a rule in force. Connections that are open under the old one are
// broken.
func (i *Injector) Set(rule Rule) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rule = rule
	i.breakLocked()
	switch {
	case rule.Refuse && i.listener != nil:
		err := i.listener.Close()
		i.listener = nil
		return err
	case !rule.Refuse && i.listener == nil && !i.closed:
		listener, err := listen(i.Addr)
		if err != nil {
			return err
		}
		i.serveLocked(listener)
	}
	return nil
}

// Break breaks what is open, under the same rule.
func (i *Injector) Break() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.breakLocked()
}

// Close ends everything and waits for it.
func (i *Injector) Close() {
	i.mu.Lock()
	i.closed = true
	if i.listener != nil {
		_ = i.listener.Close()
		i.listener = nil
	}
	i.breakLocked()
	i.mu.Unlock()
	i.running.Wait()
}

func (i *Injector) breakLocked() {
	for conn := range i.open {
		reset(conn)
	}
}

func (i *Injector) serveLocked(listener net.Listener) {
	i.listener = listener
	i.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			i.count.Add(1)
			i.running.Go(func() { i.relay(conn) })
		}
	})
}

// relay serves one connection to its end.
func (i *Injector) relay(client net.Conn) {
	defer i.track(client)()
	i.mu.Lock()
	rule := i.rule
	i.mu.Unlock()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", i.target)
	if err != nil {
		return
	}
	defer i.track(server)()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = io.Copy(server, &touching{client, rule.Idle})
		halfClose(server)
	}()
	rule.answer(client, &touching{server, rule.Idle})
	if rule.Then == Hang {
		<-asked // the client has given up, or the rule
	}
	_ = client.Close()
	_ = server.Close()
	<-asked
}

// answer copies what the server says as far as the rule lets it.
func (r Rule) answer(client net.Conn, server io.Reader) {
	if r.Drip > 0 {
		server = dripping{server, r.Drip}
	}
	if r.Then == Pass {
		_, _ = io.Copy(struct{ io.Writer }{client}, server)
		return
	}
	_, _ = io.CopyN(struct{ io.Writer }{client}, server, r.After)
	switch r.Then {
	case Garbage:
		// The question is waited for: an answer before it is another fault.
		_, _ = io.CopyN(io.Discard, server, 1)
		_, _ = io.WriteString(client, "\x16\x03\x01\x00HTTP/9.9 \xff\xfe{]\r\n\r\n\x00")
	case Reset:
		_, _ = io.CopyN(io.Discard, server, 1)
		time.Sleep(50 * time.Millisecond) // a reset takes back what was not read yet
		reset(client)
	case Close:
		_, _ = io.CopyN(io.Discard, server, 1)
	}
}

// track lets Break find a connection, until its end.
func (i *Injector) track(conn net.Conn) (done func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		_ = conn.Close()
	}
	i.open[conn] = struct{}{}
	return func() {
		_ = conn.Close()
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.open, conn)
	}
}

// touching is a connection that ends when it is idle for too long.
type touching struct {
	net.Conn
	idle time.Duration
}

func (t *touching) Read(p []byte) (int, error) {
	if t.idle > 0 {
		_ = t.SetReadDeadline(time.Now().Add(t.idle))
	}
	return t.Conn.Read(p)
}

// dripping reads one byte at a time.
type dripping struct {
	io.Reader
	pause time.Duration
}

func (d dripping) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	time.Sleep(d.pause)
	return d.Reader.Read(p[:1])
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func halfClose(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

func listen(address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", address)
}
