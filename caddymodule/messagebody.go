package caddymodule

import (
	"bytes"
	"io"
	"slices"
)

// messageBody is a request body in memory.
type messageBody struct{ bytes.Reader }

// Close implements io.Closer.
func (*messageBody) Close() error { return nil }

// maxTrustedLength bounds the memory taken for a request body on the word of a
// client alone.
const maxTrustedLength = 64 << 10

// readBody reads to the end. What a client announces may never come: longer
// bodies take memory as they do, and in the end no more than was announced.
func readBody(r io.Reader, announced int64) ([]byte, error) {
	size := bytes.MinRead
	if announced >= 0 {
		size = int(min(announced, maxTrustedLength)) + 1 // for the read that finds the end
	}
	body := make([]byte, 0, size)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF { // what wraps it is no end
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if len(body) < cap(body) {
			continue
		}
		more := len(body)
		if rest := announced + 1 - int64(len(body)); rest > 0 && rest < int64(more) {
			more = int(rest)
		}
		body = slices.Grow(body, more)
	}
}
