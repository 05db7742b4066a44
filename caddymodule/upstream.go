package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// upstreamAddress is one parsed upstream argument.
type upstreamAddress struct {
	dial string
	tls  bool
	name string // server name for TLS
}

// parseUpstream reads host:port, :port, http://…, https://… and unix//path.
func parseUpstream(text string) (upstreamAddress, error) {
	if path, ok := strings.CutPrefix(text, "unix/"); ok {
		if path == "" || path == "/" {
			return upstreamAddress{}, errors.New("a unix socket needs its path: unix//run/mcp.sock")
		}
		return upstreamAddress{dial: text}, nil
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "http", text
	}
	if scheme != "http" && scheme != "https" {
		return upstreamAddress{}, fmt.Errorf("unknown scheme %q: write http, https or unix/", scheme)
	}
	if u, err := url.Parse("//" + rest); err != nil || u.Path != "" || u.RawQuery != "" || u.User != nil || strings.Contains(rest, "#") {
		return upstreamAddress{}, errors.New("an address is host:port, without path; the endpoint's own path is sent")
	}
	if rest == "" {
		return upstreamAddress{}, errors.New("the address is empty")
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = strings.Trim(rest, "[]"), map[string]string{"http": "80", "https": "443"}[scheme]
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return upstreamAddress{}, fmt.Errorf("%q is no port: write host:port", port)
	}
	return upstreamAddress{dial: net.JoinHostPort(host, port), tls: scheme == "https", name: host}, nil
}

// buildProxy makes the reverse_proxy of the upstream arguments, with settings
// that are safe for streams and for writes: every byte flushed at once, nothing
// sent twice, no compression in the way of the rewriter.
func (m *Handler) buildProxy(ctx caddy.Context) (caddyhttp.MiddlewareHandler, error) {
	type object = map[string]any
	var upstreams []object
	transport := object{"protocol": "http", "compression": false}
	hosts := make(map[string]string, len(m.Upstreams))
	for i, text := range m.Upstreams {
		address, err := parseUpstream(text)
		if err != nil {
			return nil, fmt.Errorf("upstream %q: %w", text, err)
		}
		if _, secure := transport["tls"]; i > 0 && secure != address.tls {
			return nil, errors.New("upstreams must be all http or all https")
		}
		if address.tls {
			transport["tls"] = object{}
		}
		upstreams = append(upstreams, object{"dial": address.dial})
		network, err := caddy.ParseNetworkAddress(address.dial)
		if err != nil {
			return nil, fmt.Errorf("upstream %q: %w", text, err)
		}
		hosts[address.dial] = network.JoinHostPort(0)
	}
	proxy := object{
		"upstreams":      upstreams,
		"transport":      transport,
		"flush_interval": -1,
		// The answer to a lost request is an error; a write may have happened.
		"load_balancing": object{"retries": 0, "selection_policy": object{"policy": "mcp_app"}},
	}
	raw, err := json.Marshal(proxy)
	if err != nil {
		return nil, err
	}
	module, err := ctx.LoadModuleByID("http.handlers.reverse_proxy", raw)
	if err != nil {
		return nil, fmt.Errorf("making the reverse proxy: %w", err)
	}
	m.hosts = hosts
	handler := module.(*reverseproxy.Handler)
	handler.Transport = upstreamTransport{handler.Transport.(*reverseproxy.HTTPTransport)}
	return handler, nil
}
