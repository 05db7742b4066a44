package attack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// wiretap records every byte that a client receives.
type wiretap struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (w *wiretap) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes.Write(p)
}

// take returns what was recorded since the last time.
func (w *wiretap) take() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := bytes.Clone(w.bytes.Bytes())
	w.bytes.Reset()
	return taken
}

type tappedConn struct {
	net.Conn
	tap *wiretap
}

func (c tappedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	_, _ = c.tap.Write(p[:n])
	return n, err
}

// caller is somebody with a token and, in the legacy era, a session.
type caller struct {
	client  *http.Client
	tap     *wiretap
	address string // of the gateway
	host    string
	era     string
	h2c     bool
	header  http.Header
}

func (g *target) caller(t *testing.T, tenant, token, era string, h2c bool) *caller {
	t.Helper()
	tap := &wiretap{}
	c := &caller{tap: tap, address: fmt.Sprintf("127.0.0.1:%d", g.Port), host: fmt.Sprintf("%s.localhost:%d", tenant, g.Port), era: era, h2c: h2c}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, c.address)
		return tappedConn{conn, tap}, err
	}}
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(!h2c)
	transport.Protocols.SetUnencryptedHTTP2(h2c)
	t.Cleanup(transport.CloseIdleConnections)
	c.client = &http.Client{Transport: transport, Timeout: 20 * time.Second}
	c.header = http.Header{
		"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	if era == modern {
		c.header.Set("Mcp-Protocol-Version", modern)
		return c
	}
	response, err := c.client.Do(c.build(t, c.ask("initialize", "", initialize)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.Header.Get("Mcp-Session-Id") == "" {
		t.Fatalf("no session: %v, %d", err, response.StatusCode)
	}
	c.header.Set("Mcp-Session-Id", response.Header.Get("Mcp-Session-Id"))
	c.header.Set("Mcp-Protocol-Version", legacy)
	c.send(t, request{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`})
	return c
}

// request is one attempt. Zero values are those of an honest caller.
type request struct {
	method, path, host string
	header             http.Header // beside the caller's own; nil values remove
	trailer            http.Header
	body               string
	raw                string // written to a connection as it is; HTTP/1.1 only
}

// ask is an honest request of the caller's era.
func (c *caller) ask(method, name, params string) request {
	header := http.Header{}
	if c.era == modern {
		header.Set("Mcp-Method", method)
		if name != "" {
			header.Set("Mcp-Name", name)
		}
		if params != "" {
			params += ","
		}
		if !strings.Contains(params, `"_meta"`) {
			params += `"_meta":` + modernMeta
		}
		params = strings.TrimSuffix(params, ",")
	}
	return request{header: header, body: `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`}
}

// meta are params with one more member in _meta.
func (c *caller) meta(params, member string) string {
	if c.era == modern {
		return params + `,"_meta":` + strings.TrimSuffix(modernMeta, "}") + "," + member + "}"
	}
	return params + `,"_meta":{` + member + `}`
}

// with adds header lines, in pairs.
func (r request) with(pairs ...string) request {
	header := maps.Clone(r.header)
	if header == nil {
		header = http.Header{}
	}
	for i := 0; i < len(pairs); i += 2 {
		header[pairs[i]] = append(header[pairs[i]], pairs[i+1]) // in this very spelling
	}
	r.header = header
	return r
}

// at sends to another path, to to another host.
func (r request) at(path string) request { r.path = path; return r }
func (r request) to(host string) request { r.host = host; return r }

// answer is all that came back.
type answer struct {
	status   int
	received []byte // off the wire, and decoded once more
	body     []byte
	failed   error // the client's own library refused to send it, or the connection broke
}

// message is the JSON of an answer, or the last of a stream.
func (a *answer) message() []byte {
	if i := bytes.LastIndex(a.body, []byte("data: {")); i >= 0 {
		return bytes.TrimSpace(a.body[i+len("data: "):])
	}
	return a.body
}

func (c *caller) build(t *testing.T, q request) *http.Request {
	t.Helper()
	method, path, host := q.method, q.path, q.host
	if method == "" {
		method = http.MethodPost
	}
	if path == "" {
		path = "/mcp"
	}
	if host == "" {
		host = c.host
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+c.address+path, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	for _, h := range []http.Header{c.header, q.header} {
		for name, values := range h {
			if values == nil {
				delete(r.Header, name)
				continue
			}
			r.Header[name] = values
		}
	}
	if q.trailer != nil {
		r.Trailer, r.ContentLength = q.trailer, -1
	}
	return r
}

// send sends an attempt, waits a moment for streams that do not end, and returns
// every byte received.
func (c *caller) send(t *testing.T, q request) *answer {
	t.Helper()
	c.tap.take()
	if q.raw != "" {
		return c.sendRaw(t, q.raw)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r := c.build(t, q).WithContext(ctx)
	response, err := c.client.Do(r)
	if err != nil {
		return &answer{failed: err, received: c.tap.take()}
	}
	defer func() { _ = response.Body.Close() }()
	if q.method == http.MethodGet || strings.Contains(q.body, "subscriptions/listen") {
		time.AfterFunc(50*time.Millisecond, cancel)
	}
	body, _ := io.ReadAll(response.Body) // what came until the end, whatever that is
	decoded := fmt.Appendf(nil, "%v %v %s", response.Header, response.Trailer, body)
	return &answer{status: response.StatusCode, body: body, received: append(c.tap.take(), decoded...)}
}

// sendRaw writes bytes to a connection and reads until the gateway closes it.
func (c *caller) sendRaw(t *testing.T, raw string) *answer {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	all, _ := io.ReadAll(conn)
	a := &answer{received: all, body: all}
	_, _ = fmt.Sscanf(string(all), "HTTP/1.1 %d", &a.status)
	return a
}

// written is an honest request as bytes, on a connection that ends with it.
// lines stand among its headers; each ends with a line break.
func (c *caller) written(target, lines string, q request) request {
	var header strings.Builder
	for _, h := range []http.Header{c.header, q.header} {
		_ = h.Write(&header)
	}
	q.raw = "POST " + target + " HTTP/1.1\r\n" + lines + header.String() + "Connection: close\r\nContent-Length: " + fmt.Sprint(len(q.body)) + "\r\n\r\n" + q.body
	return q
}
