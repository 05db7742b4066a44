//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// maxIdle bounds the wait for an answer.
const maxIdle = 20 * time.Second

// conn is one HTTP/1.1 connection of a client. net/http's own costs more than
// some of the proxies measured, and would be charged to all of them.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr) //nolint:noctx // bounded by the deadline of each request
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return &conn{c, bufio.NewReaderSize(c, 16<<10)}, nil
}

// answerHead is what is read of an answer's headers.
type answerHead struct {
	status  int
	length  int64 // -1 if chunked
	session []byte
}

// roundTrip sends a request and reads the answer to its end. body, if not nil,
// receives it.
func (c *conn) roundTrip(request []byte, body *bytes.Buffer) (answerHead, error) {
	if err := c.SetDeadline(time.Now().Add(maxIdle)); err != nil {
		return answerHead{}, err
	}
	if _, err := c.Write(request); err != nil {
		return answerHead{}, fmt.Errorf("sending: %w", err)
	}
	head, err := c.readHead()
	if err != nil {
		return head, err
	}
	to := io.Discard
	if body != nil {
		to = body
	}
	if head.length >= 0 {
		_, err = io.CopyN(to, c.r, head.length)
		return head, err
	}
	for {
		n, err := c.copyChunk(to)
		if err != nil || n == 0 {
			return head, err
		}
	}
}

func (c *conn) readHead() (answerHead, error) {
	head := answerHead{length: -1}
	line, err := c.line()
	if err != nil {
		return head, fmt.Errorf("reading status line: %w", err)
	}
	if len(line) < 12 {
		return head, fmt.Errorf("status line %q", line)
	}
	if head.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return head, fmt.Errorf("status line %q", line)
	}
	for {
		if line, err = c.line(); err != nil {
			return head, fmt.Errorf("reading headers: %w", err)
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if head.length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return head, fmt.Errorf("content length %q", value)
			}
		case bytes.EqualFold(name, []byte("Mcp-Session-Id")):
			head.session = bytes.Clone(value)
		}
	}
	if head.status == 204 {
		head.length = 0
	}
	return head, nil
}

func (c *conn) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

// copyChunk copies one chunk of a chunked body, and reports 0 after the last.
func (c *conn) copyChunk(to io.Writer) (int64, error) {
	line, err := c.line()
	if err != nil {
		return 0, fmt.Errorf("reading chunk: %w", err)
	}
	n, err := strconv.ParseInt(string(line), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("chunk length %q", line)
	}
	if _, err := io.CopyN(to, c.r, n); err != nil {
		return 0, fmt.Errorf("reading chunk: %w", err)
	}
	if line, err = c.line(); err != nil || len(line) > 0 {
		return 0, errors.Join(errors.New("chunk without its end"), err)
	}
	return n, nil
}
