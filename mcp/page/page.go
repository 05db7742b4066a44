// Package page brings a client for deep links, model context, messages and
// display modes into the pages of an MCP app server that has none.
//
// What a host says to a page goes over postMessage, where no gateway sees it.
// The page itself does come through the gateway, though, as a content item of a
// resources/read result. An [Injector], made once from the operator's words by
// [Compile], puts one script into such a page: the client, written for this
// package (client/client.js), with its options on the script element. It goes in
// front of everything of the page's own, so that it hears the page's handshake
// with the host. All other bytes stay, and injecting twice is injecting once.
//
// The package knows no HTTP and no policy. The client asks for nothing that the
// page could not ask for itself: every tool call it makes comes back through the
// gateway and is decided there.
package page

import "github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"

// Finding is something an operator should know about one page.
type Finding = openai.Finding

func finding(code, uri, detail, fix string) []Finding {
	return []Finding{{Code: code, Subject: uri, Detail: detail, Fix: fix}}
}
