package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// secondProtocol makes the gateway of a Caddyfile, and its client, speak HTTP/2
// only.
type secondProtocol struct {
	name      string
	scheme    string
	caddyfile func(t *testing.T, caddyfile []byte) []byte
	prepare   func(*http.Transport)
}

var secondProtocols = []secondProtocol{
	{"h2c", "http", func(_ *testing.T, caddyfile []byte) []byte {
		return bytes.Replace(caddyfile, []byte("admin off\n"), []byte("admin off\n\tservers {\n\t\tprotocols h1 h2c\n\t}\n"), 1)
	}, func(transport *http.Transport) {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}},
	{"h2", "https", func(t *testing.T, caddyfile []byte) []byte {
		t.Helper()
		certificate, key := selfSigned(t)
		text := strings.ReplaceAll(string(caddyfile), "http://*.localhost", "https://*.localhost")
		text = strings.ReplaceAll(text, "resource http://", "resource https://")
		return []byte(strings.Replace(text, "bind 127.0.0.1\n", "bind 127.0.0.1\n\ttls "+certificate+" "+key+"\n", 1))
	}, func(transport *http.Transport) {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP2(true)
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the certificate was made a moment ago
	}},
}

// selfSigned writes a certificate and its key into files.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"*.localhost"}, NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: signed}, "key.pem": {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

// startSecond runs the gateway with a site body before a handler that plays the
// server, and returns a caller that speaks HTTP/2 to it.
func startSecond(t *testing.T, protocol secondProtocol, server http.Handler, body string) *caller {
	t.Helper()
	g := start(t, stackWith(protocol.caddyfile(t, site(body)), server))
	transport := g.Transport()
	protocol.prepare(transport)
	t.Cleanup(transport.CloseIdleConnections)
	url := protocol.scheme + strings.TrimPrefix(g.URL("acme"), "http")
	grant := g.grant(viewer("acme"))
	grant.Audience = []string{url}
	return &caller{&http.Client{Transport: transport}, url, legacy, http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}}}
}

// Streams over one HTTP/2 connection must be as prompt, as filtered and as
// cancellable as over connections of their own (caddy 3556, 3606).
func TestHTTP2IsServedTheSame(t *testing.T) {
	for _, protocol := range secondProtocols {
		t.Run(protocol.name, func(t *testing.T) {
			events, gone := make(chan string), make(chan struct{})
			stream := silentStream(events, gone)
			server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					stream.ServeHTTP(w, r)
					return
				}
				answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json", "Link": "</x>"}, listing).ServeHTTP(w, r)
			})
			c := startSecond(t, protocol, server, "encode gzip\n"+strings.Replace(withTools, "limits {", "limits {\n\trequest_body 4KiB", 1))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			response := c.get(ctx, t, nil) // its headers come before any event
			if response.ProtoMajor != 2 {
				t.Fatalf("the client speaks %s", response.Proto)
			}
			// While the stream is open, others go on beside it.
			a := c.post(t, pingBody, nil)
			if wantStatus(t, "a list", a, http.StatusOK); !slices.Equal(a.names("tools", "name"), []string{"shown"}) {
				t.Errorf("tools: %s", a)
			}
			wantStatus(t, "a large body", c.post(t, padded(100_000), nil), http.StatusRequestEntityTooLarge)
			wantStatus(t, "nobody", c.post(t, pingBody, http.Header{"Authorization": nil}), http.StatusUnauthorized)
			events <- "data: " + listing + "\n\n"
			part := make([]byte, 4096)
			n, err := response.Body.Read(part)
			if got := string(part[:n]); err != nil || !strings.Contains(got, `"shown"`) || strings.Contains(got, "secret") {
				t.Errorf("the stream carries %q, %v", got, err)
			}
			cancel()
			happens(t, "the server learns that the client has gone", gone)
		})
	}
}

// A proxy may speak HTTP/2 to the server as well; trailers and streams come from
// there in frames of their own (caddy 3236, 3556).
func TestTheServerMaySpeakHTTP2(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what was sent does not matter
		w.Header().Set("Content-Type", map[string]string{http.MethodGet: "text/event-stream"}[r.Method])
		w.Header().Set("Trailer", "X-Sum, Mcp-Session-Id")
		body := listing
		if r.Method == http.MethodGet {
			body = "data: " + listing + "\n\n"
		}
		_, _ = io.WriteString(w, body)
		w.Header().Set("X-Sum", r.Proto)
		w.Header().Set("Mcp-Session-Id", "secret")
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upstream := &http.Server{Handler: server, Protocols: new(http.Protocols), ReadHeaderTimeout: patience}
	upstream.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = upstream.Serve(listener) }() // ends with Close
	t.Cleanup(func() { _ = upstream.Close() })
	for _, protocol := range secondProtocols {
		t.Run(protocol.name, func(t *testing.T) {
			c := startSecond(t, protocol, http.NotFoundHandler(), "mcp_app /mcp {\n"+secured+"policy {\n\ttool shown\n}\n}\n"+
				"reverse_proxy h2c://"+listener.Addr().String())
			for _, method := range []string{http.MethodPost, http.MethodGet} {
				response, err := c.client.Do(c.request(t, method, c.url, pingBody, nil))
				if err != nil {
					t.Fatal(err)
				}
				a := readAnswer(t, response)
				if wantStatus(t, method, a, http.StatusOK); !slices.Equal(a.names("tools", "name"), []string{"shown"}) {
					t.Errorf("%s: %s", method, a)
				}
				if got := response.Trailer; got.Get("X-Sum") != "HTTP/2.0" || len(got["Mcp-Session-Id"]) != 0 {
					t.Errorf("%s: trailers %v", method, got)
				}
				if got := response.Header.Get("Mcp-Session-Id"); got != "" {
					t.Errorf("%s: a trailer became the session %q", method, got)
				}
			}
		})
	}
}
