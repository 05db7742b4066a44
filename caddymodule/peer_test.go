package caddymodule

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAPublicAddressIsFoundWhereverItIsSaid(t *testing.T) {
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 443} }
	for _, tt := range []struct {
		name   string
		remote string
		local  net.Addr
		header http.Header
		want   string
	}{
		{name: "loopback", remote: "127.0.0.1:4711", local: tcp("127.0.0.1")},
		{name: "loopback, IPv6", remote: "[::1]:4711", local: tcp("::1")},
		{name: "all of 127/8", remote: "127.9.9.9:4711"},
		{name: "private", remote: "10.1.2.3:4711", local: tcp("10.1.2.4")},
		{name: "private, IPv6", remote: "[fd00::1]:4711", local: tcp("fd00::2")},
		{name: "link-local with a zone", remote: "[fe80::1%eth0]:4711"},
		{name: "mapped loopback", remote: "[::ffff:127.0.0.1]:4711"},
		{name: "unix socket", remote: "@", local: &net.UnixAddr{Name: "/run/x", Net: "unix"}},
		{name: "unix socket without a name", remote: ""},
		{name: "public peer", remote: "203.0.113.7:4711", want: "203.0.113.7:4711"},
		{name: "public peer, IPv6", remote: "[2001:db8::7]:4711", want: "[2001:db8::7]:4711"},
		{name: "mapped public peer", remote: "[::ffff:203.0.113.7]:4711", want: "[::ffff:203.0.113.7]:4711"},
		{name: "public local address", remote: "10.1.2.3:4711", local: tcp("203.0.113.1"), want: "203.0.113.1:443"},
		{name: "any address", remote: "0.0.0.0:4711", want: "0.0.0.0:4711"},
		{name: "shared address space", remote: "100.64.0.1:4711", want: "100.64.0.1:4711"},
		{name: "X-Forwarded-For", remote: "127.0.0.1:1", header: http.Header{"X-Forwarded-For": {"203.0.113.7"}}, want: "203.0.113.7"},
		{name: "in a chain", remote: "127.0.0.1:1", header: http.Header{"X-Forwarded-For": {"10.0.0.1, 203.0.113.7 ,10.0.0.2"}}, want: "203.0.113.7"},
		{name: "in the second line", remote: "127.0.0.1:1", header: http.Header{"X-Forwarded-For": {"10.0.0.1", "203.0.113.7"}}, want: "203.0.113.7"},
		{name: "with a port", remote: "127.0.0.1:1", header: http.Header{"X-Forwarded-For": {"203.0.113.7:80"}}, want: "203.0.113.7:80"},
		{name: "bare IPv6", remote: "127.0.0.1:1", header: http.Header{"X-Forwarded-For": {"2001:db8::7"}}, want: "2001:db8::7"},
		{name: "bracketed IPv6", remote: "127.0.0.1:1", header: http.Header{"X-Forwarded-For": {"[2001:db8::7]"}}, want: "[2001:db8::7]"},
		{name: "X-Real-IP", remote: "127.0.0.1:1", header: http.Header{"X-Real-Ip": {"203.0.113.7"}}, want: "203.0.113.7"},
		{name: "CF-Connecting-IP", remote: "127.0.0.1:1", header: http.Header{"Cf-Connecting-Ip": {"203.0.113.7"}}, want: "203.0.113.7"},
		{name: "Forwarded", remote: "127.0.0.1:1", header: http.Header{"Forwarded": {`for=10.0.0.1;by=10.0.0.2, FOR="[2001:db8::7]:4711";proto=http`}}, want: "[2001:db8::7]:4711"},
		{name: "Forwarded by a public proxy", remote: "127.0.0.1:1", header: http.Header{"Forwarded": {`for=10.0.0.1;by=203.0.113.7`}}},
		{name: "Forwarded, hidden", remote: "127.0.0.1:1", header: http.Header{"Forwarded": {"for=_secret, for=unknown"}}},
		{name: "private chain", remote: "127.0.0.1:1", header: http.Header{"X-Forwarded-For": {"10.0.0.1, 192.168.0.1, ::1, fd00::1"}}},
		{name: "no address", remote: "127.0.0.1:1", header: http.Header{"X-Forwarded-For": {"unknown, , x"}}},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.RemoteAddr = tt.remote
		if tt.header != nil {
			r.Header = tt.header
		}
		if tt.local != nil {
			r = withLocalAddress(r, tt.local)
		}
		if got := publicPeer(r); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, name := range []string{
		"True-Client-IP", "CF-Connecting-IPv6", "CF-Pseudo-IPv4", "Fly-Client-IP", "Fastly-Client-IP", "X-Client-IP", "X-Cluster-Client-IP",
		"X-Original-Forwarded-For", "X-Envoy-External-Address", "X-Appengine-User-IP", "X-Azure-ClientIP", "DO-Connecting-IP", "CloudFront-Viewer-Address",
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set(name, "203.0.113.7:4711")
		if publicPeer(r) == "" {
			t.Errorf("%s is not looked at", name)
		}
		r.Header.Set(name, "10.0.0.1")
		if got := publicPeer(r); got != "" {
			t.Errorf("%s: a private address is taken for the public %q", name, got)
		}
	}
}
