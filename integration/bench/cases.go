//go:build linux

package main

import (
	"fmt"
	"strings"
)

// measure is one case of the tables: the same traffic on every path that can
// carry it.
type measure struct {
	Name    string
	What    string // for the reader
	paths   []string
	traffic func(p *path) traffic
	ways    int // connections; 0 means the default
}

// everyPath names the paths that carry a call.
var (
	caddies  = []string{direct, stock, ours}
	allPaths = []string{direct, stock, ours, oauth2Proxy, vmcp}
)

// call is the small tool call that most cases send.
func (b *bench) call(p *path, tokens []string) message {
	if p.name == vmcp && len(tokens) > 1 { // its session is one caller's, and ends when another uses it
		tokens = tokens[:1]
	}
	return message{
		host: p.addr, session: p.session, token: pick(tokens), method: "tools/call", name: "visible.echo",
		params: `"arguments":{"text":"` + padding[:200] + `"},`,
	}
}

// pick takes tokens in turn.
func pick(tokens []string) func(n uint64) string {
	return func(n uint64) string { return tokens[n%uint64(len(tokens))] }
}

// measures lists the cases that differ in their requests only.
func (b *bench) measures() []measure {
	ok := func(m message) traffic { return traffic{addr: m.host, append: m.append, status: 200} }
	list := func(query string, tokens []string) func(p *path) traffic {
		return func(p *path) traffic {
			return ok(message{host: p.addr, query: query, token: pick(tokens), method: "tools/list"})
		}
	}
	cases := []measure{
		{
			Name: "call", What: "`tools/call`, 0.5 KB each way, 10 RS256 tokens", paths: allPaths,
			traffic: func(p *path) traffic { return ok(b.call(p, b.rs256[:10])) },
		},
		{
			Name: "call-es256", What: "the same with 10 ES256 tokens", paths: caddies,
			traffic: func(p *path) traffic { return ok(b.call(p, b.es256[:10])) },
		},
		{
			Name: "call-10k", What: "the same with 10,000 ES256 tokens of as many callers", paths: caddies,
			traffic: func(p *path) traffic { return ok(b.call(p, b.es256)) },
		},
		{
			Name: "401", What: "no token: the challenge (direct and stock Caddy answer the call)", paths: []string{stock, ours, oauth2Proxy},
			traffic: func(p *path) traffic {
				m := b.call(p, nil)
				m.token = nil
				t := ok(m)
				if p.name == ours || p.name == oauth2Proxy {
					t.status = 401
				}
				if p.name == oauth2Proxy {
					t.status = 403 // its page for people who are not signed in
				}
				return t
			},
		},
		{
			Name: "unknown-kid", What: "a flood of tokens signed by nobody, each with a key id of its own", paths: []string{stock, ours},
			traffic: func(p *path) traffic {
				m := b.call(p, nil)
				m.token = b.unknownKid
				t := ok(m)
				if p.name == ours {
					t.status = 401
				}
				return t
			},
		},
		{
			Name: "hidden", What: "a call of a hidden tool, answered as unknown by the server", paths: []string{stock, ours},
			traffic: func(p *path) traffic {
				m := b.call(p, b.rs256[:10])
				m.name = "hidden.tool0005"
				return ok(m)
			},
		},
		{
			Name: "call-1mb", What: "a call with an argument of 1 MB", paths: caddies, ways: 4,
			traffic: func(p *path) traffic {
				m := b.call(p, b.rs256[:10])
				m.params = `"arguments":{"text":"` + b.megabyte + `"},`
				return ok(m)
			},
		},
		{
			Name: "reply-5mb", What: "a result of 5 MB", paths: caddies, ways: 4,
			traffic: func(p *path) traffic {
				m := b.call(p, b.rs256[:10])
				m.query = "?reply=5000000"
				return ok(m)
			},
		},
		{
			Name: "discover-warm", What: "`server/discover`, the catalog is known", paths: caddies,
			traffic: func(p *path) traffic {
				return ok(message{host: p.addr, token: pick(b.rs256[:10]), method: "server/discover"})
			},
		},
		{
			Name: "discover-cold", What: "`server/discover`, the catalog is asked for each time", paths: caddies,
			traffic: func(p *path) traffic {
				return ok(message{
					host: p.addr, token: pick(b.rs256[:10]), method: "server/discover",
					version: func(n uint64) string { return fmt.Sprintf("1.%d", 1_000_000_000_0+n) },
				})
			},
		},
	}
	for _, tools := range []int{10, 100, 2000} {
		cases = append(cases, measure{
			Name: fmt.Sprintf("list-%d", tools), What: fmt.Sprintf("`tools/list` of %d tools, half of them hidden, the same list each time", tools), paths: caddies,
			traffic: list(fmt.Sprintf("?tools=%d", tools), b.rs256[:1]), ways: listWays(tools),
		})
	}
	cases = append(
		cases,
		measure{
			Name: "list-2000-principals", What: "the same list of 2,000 for 10 callers in turn", paths: caddies, ways: listWays(2000),
			traffic: list("?tools=2000", b.rs256[:10]),
		},
		measure{
			Name: "list-2000-changing", What: "a list of 2,000 tools that is another one each time", paths: caddies, ways: listWays(2000),
			traffic: list("?tools=2000&vary=1", b.rs256[:1]),
		},
	)
	return cases
}

// listWays keeps long lists from being a test of memory.
func listWays(tools int) int {
	if tools >= 1000 {
		return 4
	}
	return 0
}

// chosen reports whether a case was asked for.
func (b *bench) chosen(name string) bool {
	if b.only == "" {
		return true
	}
	for wanted := range strings.SplitSeq(b.only, ",") {
		if wanted == name {
			return true
		}
	}
	return false
}
