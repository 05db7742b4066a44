package caddymodule

import (
	"bytes"
	"io"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// maxOneWrite is up to which size a message is sent together with its headers.
const maxOneWrite = 64 << 10

// upstreamTransport is Caddy's transport for messages that lie in memory. Of a
// body that is none of its own kinds, net/http cannot know that it needs no
// waiting for, and writes the headers by themselves: one more system call here,
// and one more packet for the server.
type upstreamTransport struct{ *reverseproxy.HTTPTransport }

// RoundTrip implements http.RoundTripper.
func (t upstreamTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.ContentLength > 0 && r.ContentLength <= maxOneWrite && len(r.Trailer) == 0 {
		message := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, message)
		if closing := r.Body.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(message))
	}
	return t.HTTPTransport.RoundTrip(r)
}
