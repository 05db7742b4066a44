package caddymodule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

// consoleRoute is one thing that the page may ask.
type consoleRoute struct {
	method, path string // at the admin endpoint
	live         bool   // answered by events, without an end
	doctor       bool   // the answer tells which address is to be checked
}

// consoleRoutes are all that is ever asked there: what reads, nothing that writes.
var consoleRoutes = map[string]consoleRoute{
	"api/endpoints": {method: http.MethodGet, path: "/mcp_app/endpoints"},
	"api/findings":  {method: http.MethodGet, path: "/mcp_app/findings"},
	"api/catalog":   {method: http.MethodPost, path: "/mcp_app/catalog"},
	"api/explain":   {method: http.MethodPost, path: "/mcp_app/explain"},
	"api/doctor":    {method: http.MethodPost, path: "/mcp_app/explain", doctor: true},
	"api/events":    {method: http.MethodGet, path: "/mcp_app/events", live: true},
}

const (
	// maxConsoleAnswer bounds what is taken over from the admin endpoint, in
	// bytes. Lists of tools are bounded long before, by the endpoint's limits.
	maxConsoleAnswer = 64 << 20
	// consoleTimeout is longer than a check may take, which the admin endpoint
	// ends by itself.
	consoleTimeout = inventoryTimeout + 10*time.Second
)

// consoleFault says why the admin endpoint gave no answer.
type consoleFault struct {
	// Class is unreachable, timeout, forbidden, missing (no such API), refused,
	// or malformed.
	Class string `json:"class"`
	Text  string `json:"text"`

	status int
}

// consoleRelay asks the admin endpoint of a Caddy.
type consoleRelay struct {
	client *http.Client
	host   string // of the address, empty for a socket
	shown  string // the address as it was given
	origin string // the URL under which the admin endpoint expects to be asked
}

// newConsoleRelay reads an address as Caddy's admin setting has it.
func newConsoleRelay(admin string) (*consoleRelay, error) {
	address, err := caddy.ParseNetworkAddressWithDefaults(admin, "tcp", 2019)
	if err != nil {
		return nil, err
	}
	if address.PortRangeSize() != 1 && !address.IsUnixNetwork() {
		return nil, errors.New("an address with one port is needed")
	}
	if !address.IsUnixNetwork() && address.Network != "tcp" {
		return nil, errors.New("a TCP address or unix//path is needed")
	}
	if !address.IsUnixNetwork() && address.Host == "" {
		address.Host = "localhost"
	}
	if address.IsUnixNetwork() {
		// The admin setting may give the socket's permissions: unix//path|0220.
		address.Host, _, _ = strings.Cut(address.Host, "|")
	}
	target, origin := address.JoinHostPort(0), "http://"+address.JoinHostPort(0)
	host := address.Host
	if address.IsUnixNetwork() {
		host = ""
		// What Caddy's own commands say to a socket.
		origin = "http://127.0.0.1"
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	network := address.Network
	return &consoleRelay{
		host: host, shown: discovery.Clean(admin, discovery.MaxText, nil), origin: origin,
		client: &http.Client{
			// No proxy of the environment stands before an admin endpoint.
			Transport: &http.Transport{
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return dialer.DialContext(ctx, network, target)
				},
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// local reports whether what is asked stays on this machine.
func (c *consoleRelay) local() bool {
	ip := net.ParseIP(c.host)
	return c.host == "" || c.host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

func (c *consoleRelay) close() { c.client.CloseIdleConnections() }

// reach asks for the endpoints, to see whether anybody answers.
func (c *consoleRelay) reach(ctx context.Context) *consoleFault {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, fault := c.whole(ctx, consoleRoutes["api/endpoints"], "", nil)
	return fault
}

// serve relays one request of the page. say is told what a check is about.
func (c *consoleRelay) serve(w http.ResponseWriter, r *http.Request, route consoleRoute, say func(what string)) {
	var body []byte
	if route.method == http.MethodPost {
		if !mcp.IsJSON(r.Header.Get("Content-Type")) {
			refuseConsole(w, http.StatusUnsupportedMediaType, "The Content-Type must be application/json.")
			return
		}
		var err error
		if body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody)); err != nil {
			writeFault(w, &consoleFault{"refused", fmt.Sprintf("The request is larger than %d bytes, or broke off.", maxAdminBody), http.StatusRequestEntityTooLarge})
			return
		}
	}
	noDeadline(w)
	ctx := r.Context()
	if !route.live {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, consoleTimeout)
		defer cancel()
	}
	endpoint := r.URL.Query().Get("endpoint")
	if route.live {
		answer, fault := c.ask(ctx, route, endpoint, nil)
		if fault != nil {
			writeFault(w, fault)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		relayStream(w, answer.Body)
		return
	}
	text, fault := c.whole(ctx, route, endpoint, body)
	if fault != nil {
		writeFault(w, fault)
		return
	}
	if route.doctor {
		examineForConsole(r.Context(), w, body, text, say)
		return
	}
	writeConsole(w, http.StatusOK, "application/json", text)
}

// ask returns an answer of the expected kind, whose body is to be closed.
func (c *consoleRelay) ask(ctx context.Context, route consoleRoute, endpoint string, body []byte) (*http.Response, *consoleFault) {
	address := c.origin + route.path
	if endpoint != "" && route.method == http.MethodGet {
		address += "?" + url.Values{"endpoint": {endpoint}}.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, route.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, &consoleFault{"unreachable", "The admin address cannot be asked.", http.StatusBadGateway}
	}
	if c.host != "" {
		// Wanted by admin endpoints with enforce_origin, and refused at sockets, as
		// by Caddy's own commands.
		r.Header.Set("Origin", c.origin)
	}
	kind := "application/json"
	if route.live {
		kind = "text/event-stream"
	}
	r.Header.Set("Accept", kind)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, c.notReached(err)
	}
	got, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if answer.StatusCode == http.StatusOK && got == kind {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	return nil, c.refused(answer)
}

// whole asks for JSON.
func (c *consoleRelay) whole(ctx context.Context, route consoleRoute, endpoint string, body []byte) ([]byte, *consoleFault) {
	answer, fault := c.ask(ctx, route, endpoint, body)
	if fault != nil {
		return nil, fault
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxConsoleAnswer+1))
	switch {
	case err != nil:
		return nil, c.notReached(err)
	case len(text) > maxConsoleAnswer || !json.Valid(text):
		return nil, c.malformed()
	}
	return text, nil
}

func (c *consoleRelay) notReached(err error) *consoleFault {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return &consoleFault{"timeout", "The admin endpoint at " + c.shown + " did not answer in time.", http.StatusGatewayTimeout}
	}
	return &consoleFault{"unreachable", "Nothing answers at the admin address " + c.shown + ". Is Caddy running, and is its admin endpoint on?", http.StatusBadGateway}
}

func (c *consoleRelay) malformed() *consoleFault {
	return &consoleFault{"malformed", "What answers at " + c.shown + " is not Caddy's admin endpoint.", http.StatusBadGateway}
}

// refused reads why. Caddy's errors are {"error":"…"}; a path it does not know
// gets none.
func (c *consoleRelay) refused(answer *http.Response) *consoleFault {
	var said struct {
		Error string `json:"error"`
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	_ = json.Unmarshal(text, &said)
	switch {
	case err != nil || answer.StatusCode < 400:
		return c.malformed()
	case answer.StatusCode == http.StatusForbidden:
		return &consoleFault{"forbidden", "The admin endpoint does not let the console in; see its origins setting.", http.StatusBadGateway}
	case said.Error == "" && answer.StatusCode == http.StatusNotFound:
		return &consoleFault{"missing", "The Caddy at " + c.shown + " has no such admin API: it runs without mcp_app, or with an earlier version.", http.StatusNotFound}
	case said.Error == "":
		return c.malformed()
	default:
		return &consoleFault{"refused", discovery.Clean(said.Error, discovery.MaxText, nil), answer.StatusCode}
	}
}

func writeFault(w http.ResponseWriter, fault *consoleFault) {
	text, err := json.Marshal(fault)
	if err != nil {
		text = []byte("{}")
	}
	writeConsole(w, fault.status, "application/json", text)
}

// relayStream passes events on as they come, until one side ends.
func relayStream(w http.ResponseWriter, from io.Reader) {
	stream := beginEvents(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && stream.send(string(buffer[:n])) != nil {
			return
		}
		if err != nil {
			return
		}
	}
}
