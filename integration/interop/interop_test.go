package interop

import (
	"os"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
)

// notes is the plan for the catalog of dualserver.mjs and goServer.
var notes = plan{
	Call:            call{"greet", map[string]any{"name": "Ada"}},
	Linking:         call{"greet", map[string]any{"name": "Ada"}},
	HiddenTool:      "vault",
	UnknownTool:     "nosuch",
	Read:            "note://public",
	HiddenResource:  "note://private",
	UnknownResource: "note://nosuch",
	Prompt:          "welcome",
	HiddenPrompt:    "audit",
	UnknownPrompt:   "nosuch",
	Announce:        "announce",
	Updated:         "note://public",
	want: transcript{
		Tools:     []string{"announce", "greet"},
		Prompts:   []string{"welcome"},
		Resources: []string{"note://public"},
		Templates: []string{"note://public/{page}"},
		Called:    "Hello, Ada!",
		Progress:  3,
		Links:     []string{"note://public"},
		Read:      "This is note://public.",
		Prompt:    "Welcome.",
	},
}

// notesPolicy shows what the plan expects.
const notesPolicy = `tool greet
tool announce
prompt welcome
resource note://public
resource note://public/*
template note://public/*`

// everything is the plan for @modelcontextprotocol/server-everything.
var everything = plan{
	Call:            call{"trigger-long-running-operation", map[string]any{"duration": 0.05, "steps": 2}},
	Linking:         call{"get-resource-links", map[string]any{"count": 4}},
	HiddenTool:      "get-env",
	UnknownTool:     "nosuch",
	Read:            "demo://resource/dynamic/text/1",
	HiddenResource:  "demo://resource/dynamic/blob/1",
	UnknownResource: "demo://nosuch",
	Prompt:          "simple-prompt",
	HiddenPrompt:    "completable-prompt",
	UnknownPrompt:   "nosuch",
	Announce:        "toggle-subscriber-updates",
	Updated:         "demo://resource/dynamic/text/1",
	Resume:          true,
	want: transcript{
		Tools:     []string{"echo", "get-resource-links", "toggle-subscriber-updates", "trigger-long-running-operation"},
		Prompts:   []string{"resource-prompt", "simple-prompt"},
		Resources: []string{"demo://resource/static/document/features.md"},
		Templates: []string{"demo://resource/dynamic/text/{resourceId}"},
		Called:    "Long running operation completed. Duration: 0.05 seconds, Steps: 2.",
		Progress:  2,
		// Every other of the four links leads to a blob.
		Links:      []string{"demo://resource/dynamic/text/2", "demo://resource/dynamic/text/4"},
		Read:       "Resource 1: This is a plaintext resource created at ",
		Prompt:     "This is a simple prompt without arguments.",
		AfterClose: 400, // what this server says itself
	},
}

const everythingPolicy = `tool echo
tool get-resource-links
tool toggle-subscriber-updates
tool trigger-*
prompt *
prompt args-prompt {
	deny
}
prompt completable-prompt {
	deny
}
resource demo://resource/dynamic/text/*
resource demo://resource/static/document/features.md
template demo://resource/dynamic/text/*`

// TestGoServer has clients of every make talk to a server of the Go SDK.
func TestGoServer(t *testing.T) {
	p := notes
	p.Resume, p.want.AfterClose = true, 404
	g := start(t, upstream{handler: goServer(t)}, setup{policy: notesPolicy})
	g.meetAll(t, p, legacy, modern)
	g.negotiate(t, p, modern)
}

// TestTypeScriptServer does so with version 2 of the TypeScript SDK, which
// serves the legacy era without sessions, so without streams of its own.
func TestTypeScriptServer(t *testing.T) {
	tools := node.Require(t)
	g := start(t, upstream{address: startDualServer(t, tools)}, setup{policy: notesPolicy})
	sessionless := notes
	sessionless.Updated = ""
	g.meetAll(t, sessionless, legacy)
	g.meetAll(t, notes, modern)
	g.negotiate(t, notes, modern)
}

// TestServerEverything does so with the protocol's own example server, which is
// on version 1 of the TypeScript SDK and of the legacy era only.
func TestServerEverything(t *testing.T) {
	tools := node.Require(t)
	address := node.Address(t)
	server := tools.Command(t.Context(), node.ServerEverything, "streamableHttp")
	// It shows its environment to everybody who asks.
	server.Env = []string{"PORT=" + node.Port(t, address), "PATH=" + os.Getenv("PATH")}
	node.Serve(t, server, address)
	g := start(t, upstream{address: address}, setup{policy: everythingPolicy})
	g.meetAll(t, everything, legacy)
	g.negotiate(t, everything, legacy)
}

func startDualServer(t *testing.T, tools *node.Tools) (address string) {
	t.Helper()
	address = node.Address(t)
	node.Serve(t, tools.Command(t.Context(), "dualserver.mjs", node.Port(t, address)), address)
	return address
}

// meetAll walks every client through the plan in every given era.
func (g *gateway) meetAll(t *testing.T, p plan, revisions ...string) {
	t.Helper()
	for _, revision := range revisions {
		p := p.in(revision)
		t.Run("offers "+revision, func(t *testing.T) { p.offers(t, g.upstream, revision) })
		t.Run("Go "+revision, func(t *testing.T) { p.check(t, walk(t, g.wire(t), g.url, revision, p)) })
		t.Run("TypeScript 2 "+revision, func(t *testing.T) {
			mode := any("legacy")
			if revision == modern {
				mode = map[string]string{"pin": modern}
			}
			p.check(t, g.walkJS(t, node.Require(t), 2, mode, p))
		})
		if revision == legacy {
			t.Run("TypeScript 1", func(t *testing.T) { p.check(t, g.walkJS(t, node.Require(t), 1, nil, p)) })
		}
	}
}

// negotiate has a client find out the era by itself.
func (g *gateway) negotiate(t *testing.T, p plan, revision string) {
	t.Helper()
	t.Run("TypeScript 2 negotiating", func(t *testing.T) {
		p := p.in(revision)
		p.check(t, g.walkJS(t, node.Require(t), 2, "auto", p))
	})
}
