package main

import (
	"fmt"
	"strconv"
	"strings"
)

// padding makes a small message half a kilobyte.
var padding = strings.Repeat("a", 300)

// message builds requests to one path.
type message struct {
	host, query string
	token       func(n uint64) string // nil for none
	session     string                // the legacy era, in this session
	method      string
	name        string // of the tool, if there is one
	params      string // members of params besides _meta and name
	version     func(n uint64) string
}

// append writes the n-th request. Ids have a fixed width, so that all requests
// of a case are of one length.
func (m message) append(buf []byte, n uint64) []byte {
	version := "1.0.000000000"
	if m.version != nil {
		version = m.version(n)
	}
	params := m.params
	if m.name != "" {
		params = `"name":"` + m.name + `",` + params
	}
	meta := ""
	if m.session == "" {
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"` +
			version + `"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"openai/settings":{}}}}`
	}
	params = strings.Trim(params+meta, ",")
	length := len(`{"jsonrpc":"2.0","id":,"method":"","params":{}}`) + idWidth + len(m.method) + len(params)

	buf = append(buf, "POST /mcp"...)
	buf = append(buf, m.query...)
	buf = append(buf, " HTTP/1.1\r\nHost: "...)
	buf = append(buf, m.host...)
	buf = append(buf, "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nUser-Agent: bench\r\n"...)
	if m.session == "" {
		buf = append(buf, "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: "...)
		buf = append(buf, m.method...)
		buf = append(buf, "\r\n"...)
		if m.name != "" {
			buf = append(buf, "Mcp-Name: "...)
			buf = append(buf, m.name...)
			buf = append(buf, "\r\n"...)
		}
	} else {
		buf = append(buf, "Mcp-Protocol-Version: 2025-06-18\r\n"...)
		if m.session != noSession {
			buf = append(buf, "Mcp-Session-Id: "...)
			buf = append(buf, m.session...)
			buf = append(buf, "\r\n"...)
		}
	}
	if m.token != nil {
		buf = append(buf, "Authorization: Bearer "...)
		buf = append(buf, m.token(n)...)
		buf = append(buf, "\r\n"...)
	}
	buf = append(buf, "Content-Length: "...)
	buf = strconv.AppendInt(buf, int64(length), 10)
	buf = append(buf, "\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":"...)
	buf = append(buf, fmt.Sprintf("%0*d", idWidth, idBase+n)...)
	buf = append(buf, `,"method":"`...)
	buf = append(buf, m.method...)
	buf = append(buf, `","params":{`...)
	buf = append(buf, params...)
	return append(buf, "}}"...)
}

const (
	idWidth = 12
	// idBase gives every id its full width without leading zeros, which JSON
	// does not know.
	idBase = 100_000_000_000
	// noSession asks for the legacy era outside of a session.
	noSession = "-"
)
