package attack

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// The eras, by the revision that stands for each.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

const (
	modernMeta = `{"io.modelcontextprotocol/protocolVersion":"` + modern + `",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"attack","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	initialize = `"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"attack","version":"1"}`
)

// hiddenTool is for the victim's tenant only.
const hiddenTool = "admin.purge_deck"

// target is a gateway with the attacker's tenant acme and the victim's, globex.
type target struct {
	*stack.Stack
	attacker, victim string   // tokens
	both             string   // a token of the attacker for both tenants
	forged           string   // one for the attacker's host that claims the victim's tenant
	canaries         []string // of the victim's data
	deck             string   // id of the victim's deck
	session          string   // the victim's, as its client knows it
	serverSession    string   // the same, as the server knows it
	cursor           string   // the victim's
}

// caddyfile is the example with every door that this suite knocks at.
func caddyfile(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "Caddyfile.example"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, change := range [][2]string{
		{"grace_period 10s", "grace_period 1s\n\tservers {\n\t\tprotocols h1 h2c\n\t}"},
		{"allow acme globex", "allow acme globex\n\t\t\targument tenant\n\t\t\theader X-Tenant-Id"},
		{"tool list_decks", "tool list_decks\n\t\t\ttool " + hiddenTool + " {\n\t\t\t\ttenants globex\n\t\t\t}\n\t\t\tprompt *\n\t\t\tresource deck://*\n\t\t\ttemplate *"},
		{"links {", "methods tasks/*\n\t\tlinks {"},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("Caddyfile.example does not contain %q", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return []byte(text)
}

func newTarget(t *testing.T, config workspace.Config) *target {
	t.Helper()
	config.PageSize = 2 // so that there are cursors
	s, err := stack.Start(t.Context(), stack.Config{Caddyfile: caddyfile(t), Workspace: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the stack: %v", err)
		}
	})
	g := &target{Stack: s, canaries: []string{"Globex roadmap", "Globex hammock district", "Globex moon laser budget", "canary-" + rand.Text()}}
	g.attacker = g.token(t, "mallory@acme", []string{"acme"}, "acme")
	g.both = g.token(t, "mallory@acme", []string{"acme"}, []string{"acme", "globex"})
	g.forged = g.token(t, "mallory@acme", []string{"acme"}, "globex")
	g.victim = g.token(t, "erin@globex", []string{"globex"}, "globex")
	g.live(t)
	return g
}

func (g *target) token(t *testing.T, subject string, hosts []string, tenant any) string {
	t.Helper()
	grant := issuer.Grant{Subject: subject, Scopes: []string{"mcp.use", "decks.write", "settings.write"}, Claims: map[string]any{"org_id": tenant}}
	for _, host := range hosts {
		grant.Audience = append(grant.Audience, g.URL(host))
	}
	token, err := g.Issuer.Issue(grant)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// live lets the victim work: what it has made, been given and asked is what the
// attacker is after.
func (g *target) live(t *testing.T) {
	t.Helper()
	c := g.caller(t, "globex", g.victim, legacy, false)
	g.session = c.header.Get("Mcp-Session-Id")
	var made struct {
		Result struct {
			StructuredContent struct{ Deck struct{ ID string } }
			NextCursor        string
		}
	}
	canary := g.canaries[len(g.canaries)-1]
	a := c.send(t, c.ask("tools/call", "create_deck", `"name":"create_deck","arguments":{"title":"`+canary+`"}`))
	if err := json.Unmarshal(a.message(), &made); err != nil || made.Result.StructuredContent.Deck.ID == "" {
		t.Fatalf("creating the victim's deck: %v: %s", err, a.received)
	}
	g.deck = made.Result.StructuredContent.Deck.ID
	g.canaries = append(g.canaries, `"`+g.deck+`","title"`) // the id alone is what the attacker guessed
	a = c.send(t, c.ask("tools/list", "", ""))
	if err := json.Unmarshal(a.message(), &made); err != nil || made.Result.NextCursor == "" {
		t.Fatalf("the victim has no cursor: %v: %s", err, a.received)
	}
	g.cursor = made.Result.NextCursor
	for _, request := range g.Workspace.Requests() {
		if id := request.Header.Get("Mcp-Session-Id"); id != "" {
			g.serverSession = id
		}
	}
	// Whatever is cached of the victim's answers is cached now.
	for _, era := range []string{legacy, modern} {
		v := g.caller(t, "globex", g.victim, era, false)
		v.send(t, v.ask("server/discover", "", ""))
		if a := v.send(t, v.ask("tools/call", "list_decks", `"name":"list_decks"`)); !bytes.Contains(a.received, []byte(canary)) {
			t.Fatalf("the victim does not see its own deck: %s", a.received)
		}
	}
}

// checkReached checks that whatever reached the server did so as the attacker's
// own tenant, said once and in one spelling.
func (g *target) checkReached(t *testing.T) {
	t.Helper()
	for _, request := range g.Workspace.Requests() {
		for name, values := range request.Header {
			folded := strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
			if folded == strings.ToLower(workspace.TenantHeader) && (name != workspace.TenantHeader || !slices.Equal(values, []string{"acme"})) {
				t.Errorf("the server is told %s: %q", name, values)
			}
			if folded == strings.ToLower(workspace.SubjectHeader) && !slices.Equal(values, []string{"mallory@acme"}) {
				t.Errorf("the server is told %s: %q", name, values)
			}
		}
		if got := request.Header.Get(workspace.TenantHeader); got != "acme" {
			t.Errorf("the server is told tenant %q", got)
		}
		if id := request.Header.Get("Mcp-Session-Id"); id != "" && id == g.serverSession {
			t.Error("the victim's session was used")
		}
	}
	for _, call := range g.Workspace.Calls() {
		if call.Tool == hiddenTool {
			t.Errorf("%s was called", hiddenTool)
		}
	}
}

// leaks lists what of the victim's is in bytes that the attacker got.
func (g *target) leaks(received, sent []byte) (found []string) {
	for _, canary := range append(slices.Clone(g.canaries), g.serverSession) {
		if bytes.Contains(received, []byte(canary)) && !bytes.Contains(sent, []byte(canary)) {
			found = append(found, canary)
		}
	}
	if bytes.Contains(received, []byte(hiddenTool)) && !bytes.Contains(sent, []byte(hiddenTool)) {
		found = append(found, hiddenTool)
	}
	return found
}
