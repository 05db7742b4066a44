package attack

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// attempt is what an attack has at hand: the attacker's own client and what it
// may have seen or guessed of the victim.
type attempt struct {
	*caller
	g *target
}

// list is an honest call that shows the data of whoever the server takes the
// caller for.
func (a attempt) list() request { return a.ask("tools/call", "list_decks", `"name":"list_decks"`) }

// call is a call with written-out arguments.
func (a attempt) call(tool, arguments string) request {
	return a.ask("tools/call", tool, `"name":"`+tool+`","arguments":`+arguments)
}

func (a attempt) globex() string { return fmt.Sprintf("globex.localhost:%d", a.g.Port) }

// attacks are all tried in both eras, against JSON and streams, over HTTP/1.1
// and HTTP/2, as far as they make sense there. only names the era of one that
// makes sense in one only. ends are the statuses with which it may end; 200 is
// an answer without anything of the victim's, or a JSON-RPC error.
var attacks = []struct {
	name string
	only string
	ends string
	ask  func(a attempt) request
}{
	// Guessed ids.
	{"read a deck by its id", "", "200 400 404", func(a attempt) request {
		return a.ask("resources/read", "deck://"+a.g.deck, `"uri":"deck://`+a.g.deck+`"`)
	}},
	{"read an id that both tenants have", "", "200", func(a attempt) request { return a.ask("resources/read", "deck://roadmap", `"uri":"deck://roadmap"`) }},
	{"read a deck with the tenant before its id", "", "200 400 404", func(a attempt) request {
		return a.ask("resources/read", "deck://globex/"+a.g.deck, `"uri":"deck://globex/`+a.g.deck+`"`)
	}},
	{"read a deck, percent-encoded", "", "200 400 404", func(a attempt) request {
		uri := "deck://%" + fmt.Sprintf("%02x", a.g.deck[0]) + a.g.deck[1:]
		return a.ask("resources/read", uri, `"uri":"`+uri+`"`)
	}},
	{"summarize a deck by its id", "", "200 400", func(a attempt) request {
		return a.ask("prompts/get", "summarize_deck", `"name":"summarize_deck","arguments":{"deckId":"`+a.g.deck+`"}`)
	}},
	{"navigate to a deck", "", "200", func(a attempt) request { return a.call("workspace.navigate", `{"url":"/decks/`+a.g.deck+`"}`) }},
	{"navigate around the tenant", "", "200 400", func(a attempt) request {
		return a.call("workspace.navigate", `{"url":"/decks/../globex/decks/`+a.g.deck+`"}`)
	}},
	{"call a hidden tool with a deck's id", "", "200 400", func(a attempt) request { return a.call(hiddenTool, `{"deckId":"`+a.g.deck+`"}`) }},
	{"call a hidden tool in another case", "", "200 400", func(a attempt) request {
		return a.call("Admin.Purge_Deck", `{"deckId":"`+a.g.deck+`"}`)
	}},
	{"complete a deck's id", "", "200 400 404", func(a attempt) request {
		return a.ask("completion/complete", "deck://{id}", `"ref":{"type":"ref/resource","uri":"deck://{id}"},"argument":{"name":"id","value":"`+a.g.deck[:2]+`"}`)
	}},

	// Sessions and streams.
	{"call in the victim's session", legacy, "404", func(a attempt) request { return a.list().with("Mcp-Session-Id", a.g.session) }},
	{"listen in the victim's session", legacy, "404", func(a attempt) request {
		return request{method: "GET"}.with("Mcp-Session-Id", a.g.session)
	}},
	{"resume the victim's stream", legacy, "404", func(a attempt) request {
		return request{method: "GET"}.with("Mcp-Session-Id", a.g.session, "Last-Event-Id", "0_0")
	}},
	{"resume the victim's event in the own session", legacy, "200 400 404 409", func(a attempt) request {
		return request{method: "GET"}.with("Last-Event-Id", a.g.serverSession+"_0")
	}},
	{"end the victim's session", legacy, "404", func(a attempt) request { return request{method: "DELETE"}.with("Mcp-Session-Id", a.g.session) }},
	{"call in the session the server knows", legacy, "404", func(a attempt) request { return a.list().with("Mcp-Session-Id", a.g.serverSession) }},
	{"name two sessions", legacy, "400 404", func(a attempt) request {
		return a.list().with("Mcp-Session-Id", a.header.Get("Mcp-Session-Id"), "Mcp-Session-Id", a.g.session)
	}},
	{"name the victim's session where there are none", modern, "200", func(a attempt) request { return a.list().with("Mcp-Session-Id", a.g.session) }},
	{"answer for the victim in its session", legacy, "404", func(a attempt) request {
		return request{body: `{"jsonrpc":"2.0","id":"1","result":{}}`}.with("Mcp-Session-Id", a.g.session)
	}},

	// Cursors, tasks, subscriptions.
	{"go on at the victim's cursor", "", "200 400", func(a attempt) request { return a.ask("tools/list", "", `"cursor":"`+a.g.cursor+`"`) }},
	{"go on at an invented cursor", "", "200 400", func(a attempt) request { return a.ask("tools/list", "", `"cursor":"YWRtaW4"`) }},
	{"use a session as a cursor", "", "200 400", func(a attempt) request { return a.ask("tools/list", "", `"cursor":"`+a.g.session+`"`) }},
	{"fetch a guessed task", "", "200 400 404", func(a attempt) request { return a.ask("tasks/get", "1", `"taskId":"1"`) }},
	{"fetch a task's result by the victim's session", "", "200 400 404", func(a attempt) request {
		return a.ask("tasks/result", a.g.session, `"taskId":"`+a.g.session+`"`)
	}},
	{"cancel the victim's task by its cursor", "", "200 400 404", func(a attempt) request {
		return a.ask("tasks/cancel", a.g.cursor, `"taskId":"`+a.g.cursor+`"`)
	}},
	{"subscribe to a deck", legacy, "200", func(a attempt) request {
		return a.ask("resources/subscribe", "deck://"+a.g.deck, `"uri":"deck://`+a.g.deck+`"`)
	}},
	{"listen for a deck's changes", modern, "200 400 404", func(a attempt) request {
		return a.ask("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["deck://`+a.g.deck+`"],"toolsListChanged":true}`)
	}},

	// What was cached for the victim.
	{"begin after the victim has begun", legacy, "200", func(a attempt) request {
		return a.ask("initialize", "", initialize).with("Mcp-Session-Id", "")
	}},
	{"discover after the victim has discovered", modern, "200", func(a attempt) request { return a.ask("server/discover", "", "") }},
	{"list tools after the victim", "", "200", func(a attempt) request { return a.ask("tools/list", "", "") }},
	{"list only what is cached", "", "200", func(a attempt) request {
		return a.ask("tools/list", "", "").with("Cache-Control", "only-if-cached", "If-None-Match", "*")
	}},
	{"list with the victim's language", "", "200", func(a attempt) request { return a.list().with("Accept-Language", "en") }},

	// Identity headers, in every spelling.
	{"tenant header", "", "200", func(a attempt) request { return a.list().with(workspace.TenantHeader, "globex") }},
	{"tenant header in lower case", "", "200", func(a attempt) request { return a.list().with("x-mcp-app-tenant", "globex") }},
	{"tenant header in upper case", "", "200", func(a attempt) request { return a.list().with("X-MCP-APP-TENANT", "globex") }},
	{"tenant header with underscores", "", "200", func(a attempt) request { return a.list().with("X_Mcp_App_Tenant", "globex") }},
	{"tenant header with one underscore", "", "200", func(a attempt) request { return a.list().with("X-Mcp_App-Tenant", "globex") }},
	{"tenant header with dots", "", "200", func(a attempt) request { return a.list().with("X.Mcp.App.Tenant", "globex") }},
	{"tenant header, repeated", "", "200", func(a attempt) request {
		return a.list().with(workspace.TenantHeader, "acme", workspace.TenantHeader, "globex")
	}},
	{"tenant header, two in one line", "", "200", func(a attempt) request { return a.list().with(workspace.TenantHeader, "globex, acme") }},
	{"tenant header that the proxy is told to drop", "", "200", func(a attempt) request {
		return a.list().with("Connection", "close, "+workspace.TenantHeader+", "+workspace.SubjectHeader)
	}},
	{"tenant in a trailer", "", "200", func(a attempt) request {
		q := a.list()
		q.trailer = http.Header{workspace.TenantHeader: {"globex"}}
		return q
	}},
	{"subject header", "", "200", func(a attempt) request {
		return a.call("settings.read", "{}").with(workspace.SubjectHeader, "erin@globex")
	}},
	{"forged assertion", "", "200", func(a attempt) request { return a.list().with("X-Mcp-App-Assertion", a.g.victim) }},
	{"the header the operator named", "", "403", func(a attempt) request { return a.list().with("X-Tenant-Id", "globex") }},
	{"the header the operator named, twice", "", "403", func(a attempt) request { return a.list().with("X-Tenant-Id", "acme", "X-Tenant-Id", "globex") }},
	{"the header the operator named, empty", "", "403", func(a attempt) request { return a.list().with("X-Tenant-Id", "") }},
	{"forwarded host", "", "200", func(a attempt) request {
		return a.list().with("X-Forwarded-Host", a.globex(), "Forwarded", "host="+a.globex())
	}},
	{"original URL", "", "200", func(a attempt) request {
		return a.list().with("X-Original-Url", "http://"+a.globex()+"/mcp", "X-Rewrite-Url", "/mcp?tenant=globex")
	}},
	{"another method by header", "", "200", func(a attempt) request { return a.list().with("X-Http-Method-Override", "DELETE") }},
	{"a line break in a header", "", "400", func(a attempt) request {
		return a.written("/mcp", "Host: "+a.host+"\r\nX-Note: a\rX-Mcp-App-Tenant: globex\r\n", a.list())
	}},
	{"a folded header", "", "200 400", func(a attempt) request {
		return a.written("/mcp", "Host: "+a.host+"\r\nX-Note: a\r\n X-Mcp-App-Tenant: globex\r\n", a.list())
	}},

	// Arguments and _meta.
	{"tenant argument", "", "403", func(a attempt) request { return a.call("list_decks", `{"tenant":"globex"}`) }},
	{"tenant argument, a list", "", "403", func(a attempt) request { return a.call("list_decks", `{"tenant":["acme","globex"]}`) }},
	{"tenant argument, an object", "", "403", func(a attempt) request { return a.call("list_decks", `{"tenant":{"id":"globex"}}`) }},
	{"tenant argument, empty", "", "403", func(a attempt) request { return a.call("list_decks", `{"tenant":""}`) }},
	{"tenant argument, twice", "", "400", func(a attempt) request { return a.call("list_decks", `{"tenant":"acme","tenant":"globex"}`) }},
	{"tenant argument, escaped", "", "403", func(a attempt) request { return a.call("list_decks", `{"\u0074enant":"globex"}`) }},
	{"tenant argument in another case", "", "200 400", func(a attempt) request { return a.call("list_decks", `{"Tenant":"globex"}`) }},
	{"tenant argument, deeper", "", "200", func(a attempt) request { return a.call("list_decks", `{"filter":{"tenant":"globex"}}`) }},
	{"organization hint", "", "200", func(a attempt) request {
		return a.ask("tools/call", "list_decks", a.meta(`"name":"list_decks"`, `"openai/organization":"globex"`))
	}},
	{"subject hint", "", "200", func(a attempt) request {
		return a.ask("tools/call", "settings.read", a.meta(`"name":"settings.read"`, `"openai/subject":"erin@globex"`))
	}},
	{"tenant in _meta", "", "200", func(a attempt) request {
		return a.ask("tools/call", "list_decks", a.meta(`"name":"list_decks"`, `"tenant":"globex","X-Mcp-App-Tenant":"globex"`))
	}},
	{"path hint", "", "200", func(a attempt) request {
		return a.ask("tools/call", "list_decks", a.meta(`"name":"list_decks"`, `"openai/resource":{"path":"/decks/`+a.g.deck+`"}`))
	}},

	// Tokens, hosts and paths. A host of no site is Caddy's empty 200.
	{"the own token at the victim's host", "", "401 403", func(a attempt) request { return a.list().to(a.globex()) }},
	{"a token of both tenants at the victim's host, for another audience", "", "401 403", func(a attempt) request {
		return a.list().to(a.globex()).with("Authorization", "Bearer "+a.g.both)
	}},
	{"a token of both tenants at the own host", modern, "200", func(a attempt) request { return a.list().with("Authorization", "Bearer "+a.g.both) }},
	{"a token that claims the victim's tenant", "", "403", func(a attempt) request { return a.list().with("Authorization", "Bearer "+a.g.forged) }},
	{"two tokens", "", "400", func(a attempt) request {
		return a.list().with("Authorization", a.header.Get("Authorization"), "Authorization", "Bearer "+a.g.both)
	}},
	{"a token in the query", "", "401 403", func(a attempt) request {
		return a.list().to(a.globex()).at("/mcp?access_token=" + a.g.attacker)
	}},
	{"the victim's host with a dot", "", "200 401 403 404", func(a attempt) request { return a.list().to(fmt.Sprintf("globex.localhost.:%d", a.g.Port)) }},
	{"the victim's host in capitals", "", "401 403", func(a attempt) request { return a.list().to(fmt.Sprintf("GLOBEX.localhost:%d", a.g.Port)) }},
	{"the victim's host before the own", "", "200 401 403 404", func(a attempt) request { return a.list().to("globex." + a.host).at("/mcp") }},
	{"two hosts", "", "400", func(a attempt) request {
		return a.written("/mcp", "Host: "+a.host+"\r\nHost: "+a.globex()+"\r\n", a.list())
	}},
	{"the victim's host in the request line", "", "400 401 403", func(a attempt) request {
		return a.written("http://"+a.globex()+"/mcp", "Host: "+a.host+"\r\n", a.list())
	}},
	{"a percent-encoded path", "", "200 400 404", func(a attempt) request { return a.list().at("/%6dcp") }},
	{"a percent-encoded path without a token", "", "401", func(a attempt) request {
		q := a.list().at("/%6d%63p").with(workspace.TenantHeader, "globex")
		q.header["Authorization"] = nil
		return q
	}},
	{"a path with two slashes", "", "401", func(a attempt) request {
		q := a.list().at("//mcp").with(workspace.TenantHeader, "globex")
		q.header["Authorization"] = nil
		return q
	}},
	{"a path with parameters", "", "200 404", func(a attempt) request { return a.list().at("/mcp;tenant=globex") }},
	{"a path in capitals", "", "401", func(a attempt) request {
		q := a.list().at("/MCP").with(workspace.TenantHeader, "globex")
		q.header["Authorization"] = nil
		return q
	}},
	{"a path around", "", "200 404", func(a attempt) request { return a.list().at("/globex/../mcp") }},
	{"tenant in the query", "", "200", func(a attempt) request { return a.list().at("/mcp?tenant=globex&X-Mcp-App-Tenant=globex") }},

	// Messages that readers understand differently.
	{"batch", "", "400", func(a attempt) request {
		q := a.list()
		q.body = "[" + q.body + "," + strings.Replace(q.body, "list_decks", hiddenTool, 1) + "]"
		return q
	}},
	{"the name twice", "", "400", func(a attempt) request {
		q := a.list()
		q.body = strings.Replace(q.body, `"name":"list_decks"`, `"name":"list_decks","name":"`+hiddenTool+`"`, 1)
		return q
	}},
	{"the name in another case beside it", "", "400", func(a attempt) request {
		q := a.list()
		q.body = strings.Replace(q.body, `"name":"list_decks"`, `"name":"list_decks","Name":"`+hiddenTool+`"`, 1)
		return q
	}},
	{"another name in the header", modern, "400", func(a attempt) request {
		q := a.list()
		q.header.Set("Mcp-Name", hiddenTool)
		return q
	}},
	{"two messages", "", "400", func(a attempt) request {
		q := a.list()
		q.body += strings.Replace(q.body, "list_decks", hiddenTool, 1)
		return q
	}},
	{"a byte order mark", "", "400", func(a attempt) request {
		q := a.list()
		q.body = "\ufeff" + q.body
		return q
	}},
	{"two requests in one", "", "200 400", func(a attempt) request {
		q := a.written("/mcp", "Host: "+a.host+"\r\n", a.list())
		smuggled := "POST /mcp HTTP/1.1\r\nHost: " + a.globex() + "\r\n" + workspace.TenantHeader + ": globex\r\nContent-Length: 2\r\n\r\n{}"
		q.raw = strings.Replace(q.raw, "Connection: close\r\n", "Connection: close\r\nTransfer-Encoding: chunked\r\n", 1) + "\r\n0\r\n\r\n" + smuggled
		return q
	}},
}

func TestNothingOfAnotherTenantCanBeHad(t *testing.T) {
	if len(attacks) < 40 {
		t.Fatalf("only %d attacks", len(attacks))
	}
	tried := 0
	for wire, config := range map[string]workspace.Config{"streams": {}, "JSON": {JSON: true}} {
		t.Run(wire, func(t *testing.T) {
			g := newTarget(t, config)
			for _, era := range []string{legacy, modern} {
				for _, h2c := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, HTTP/2 %v", era, h2c), func(t *testing.T) { tried += g.tryAll(t, era, h2c) })
				}
			}
			g.checkVictim(t)
		})
	}
	t.Logf("%d attacks, tried in %d ways", len(attacks), tried)
}

func (g *target) tryAll(t *testing.T, era string, h2c bool) (tried int) {
	t.Helper()
	a := attempt{g.caller(t, "acme", g.attacker, era, h2c), g}
	for _, attack := range attacks {
		q := attack.ask(a)
		if attack.only != "" && attack.only != era || h2c && q.raw != "" {
			continue
		}
		tried++
		t.Run(attack.name, func(t *testing.T) {
			g.Workspace.ForgetCalls()
			got := a.send(t, q)
			g.checkReached(t)
			sent := fmt.Appendf(nil, "%s %v %s %s", q.path, q.header, q.body, q.raw)
			if found := g.leaks(got.received, sent); len(found) > 0 {
				t.Errorf("LEAK of %q: %s", found, got.received)
			}
			switch {
			case got.failed != nil && h2c: // HTTP/2 has no way to say it
				t.Logf("not sent: %v", got.failed)
			case got.failed != nil:
				t.Errorf("no answer: %v", got.failed)
			case !strings.Contains(" "+attack.ends+" ", fmt.Sprintf(" %d ", got.status)):
				t.Errorf("ends with %d, want %s: %s", got.status, attack.ends, got.body)
			}
		})
	}
	return tried
}

// checkVictim checks that the victim still has what it had.
func (g *target) checkVictim(t *testing.T) {
	t.Helper()
	c := attempt{g.caller(t, "globex", g.victim, legacy, false), g}
	c.header.Set("Mcp-Session-Id", g.session) // of before
	got := c.send(t, c.list())
	if found := g.leaks(got.received, nil); len(found) < 4 || !strings.Contains(string(got.body), g.deck) {
		t.Errorf("the victim has lost something, or the canaries do not sing: %q in %s", found, got.body)
	}
}
