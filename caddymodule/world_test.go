package caddymodule

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/flight"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// messageWorld is a random server, policy and some callers before the whole path
// of a message behind authentication: reading, deciding, asking the server for
// facts, rewriting JSON and streams. The callers share whatever the module
// remembers.
type messageWorld struct {
	*worldServer
	module     *Handler
	rules      *policy.Policy
	principals []*policy.Principal
	modern     bool

	// Of the caller whose turn it is:
	principal *policy.Principal
	view      *policy.View // what the caller may see, by the rules alone
	hidden    []string     // names; see hiddenNames
	leaks     []string
}

// become lets another caller of the world act.
func (w *messageWorld) become(p *policy.Principal) {
	w.principal, w.hidden, w.leaks = p, nil, nil
	w.view = w.rules.View(p).With(&policy.Request{}, w.worldServer)
}

// callersOfWorld are how many callers share a world.
const callersOfWorld = 3

func worldPrincipal(r *rand.Rand, mixed bool) *policy.Principal {
	if mixed && r.IntN(2) == 0 {
		return &policy.Principal{Anonymous: true}
	}
	return &policy.Principal{
		Issuer: "https://id.example", Subject: []string{"ann", "bob"}[r.IntN(2)],
		Tenant: []string{"acme", "globex"}[r.IntN(2)], Scopes: pickSome(r, []string{"w"}),
	}
}

// worldTally counts what the worlds were worth.
type worldTally struct{ worlds, messages, hidden, shown, freeText, dropped atomic.Int64 }

// freeMembers hold text for people or for the model. What a server writes there
// about tools that a caller may not see is reported here, not removed.
var freeMembers = map[string]bool{"description": true, "text": true, "instructions": true, "message": true, "title": true}

func newMessageWorld(r *rand.Rand, base *Handler) (*messageWorld, error) {
	w := &messageWorld{worldServer: newWorldServer(r), modern: r.IntN(2) == 0}
	mixed := r.IntN(4) == 0
	config := worldPolicy(r, w.worldServer, mixed)
	rules, err := policy.Compile(config)
	if err != nil {
		return nil, err
	}
	declarations := worldDeclarations(r, w.worldServer)
	overlay, err := openai.Compile(declarations)
	if err != nil {
		return nil, err
	}
	mode := modeStrict
	if mixed {
		mode = modeMixed
	}
	for range callersOfWorld {
		w.principals = append(w.principals, worldPrincipal(r, mixed))
	}
	module := *base
	module.Auth, module.Policy, module.OpenAI = &Auth{Mode: mode}, &config, &OpenAI{Declarations: declarations}
	module.rules, module.overlay, module.lists, module.tools = rules, overlay, new(listMemo), new(toolMemo)
	module.catalogs = flight.New[*mcp.Catalog](4, time.Minute, time.Minute)
	module.advertised = newAdvertised()
	module.warned = &onceSet{seen: make(map[string]bool)}
	w.module, w.rules = &module, rules
	w.become(w.principals[0])
	return w, nil
}

// send walks a request through everything behind authentication, and returns
// the messages that the caller gets.
func (w *messageWorld) send(method, params string) (status int, messages []rawjson.Value, err error) {
	header, meta := http.Header{"Content-Type": {"application/json"}}, ""
	if w.modern {
		meta = modernMeta("{}")
		if params != "" {
			meta += ","
		}
		header.Set(mcp.HeaderVersion, "2026-07-28")
		header.Set(mcp.HeaderMethod, method)
		for _, member := range []string{`"name":"`, `"uri":"`} {
			if rest, ok := strings.CutPrefix(params, member); ok {
				name, _, _ := strings.Cut(rest, `"`)
				header.Set(mcp.HeaderName, name)
			}
		}
	}
	httpMethod, body := http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+meta+params+`}}`
	if method == http.MethodGet {
		httpMethod, body = http.MethodGet, ""
		header = http.Header{mcp.HeaderVersion: {"2025-11-25"}}
	}
	r := httptest.NewRequestWithContext(context.Background(), httpMethod, "http://acme.example.com/mcp", strings.NewReader(body))
	r.Header = header
	out := httptest.NewRecorder()
	r = withTrail(prepared(r, out), &trail{})
	e := w.module.newExchange(r, caddyhttp.HandlerFunc(w.ServeHTTP), route{}, w.principal)
	e.prepareHeaders()
	err = e.read(out)
	if err == nil {
		err = e.open()
	}
	if err != nil {
		e.refuse(out, err)
	} else if e.message == nil || !e.decide(out) {
		e.prepareBody()
		if err := e.forward(out, nil); err != nil {
			return 0, nil, err
		}
	}
	messages, err = readMessages(out)
	return out.Code, messages, err
}

func readMessages(out *httptest.ResponseRecorder) (messages []rawjson.Value, err error) {
	body := out.Body.String()
	if !mcp.IsEventStream(out.Header().Get("Content-Type")) {
		message, err := rawjson.Parse([]byte(body), 64)
		return []rawjson.Value{message}, err
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			message, err := rawjson.Parse([]byte(strings.TrimSpace(data)), 64)
			if err != nil {
				return nil, err
			}
			messages = append(messages, message)
		}
	}
	return messages, nil
}

// verdict is the policy's about a name of the server.
func (w *messageWorld) verdict(name string) policy.Verdict {
	for kind, names := range map[policy.Kind][]string{
		policy.Tool: w.toolNames(), policy.Prompt: w.prompts, policy.Resource: w.resources, policy.Template: w.template,
	} {
		if slices.Contains(names, name) {
			return w.view.Decide(kind, name).Verdict
		}
	}
	return policy.Allowed // no name of the server, such as an unknown one
}

// hides reports whether a name of the server is hidden from the caller.
func (w *messageWorld) hides(name string) bool { return w.verdict(name) == policy.Hidden }

func (w *messageWorld) calls(tool string) bool {
	return tool != "" && w.view.Decide(policy.Tool, tool).Verdict == policy.Allowed
}

// inspect looks for hidden names in everything but free text.
func (w *messageWorld) inspect(v rawjson.Value, path string, tally *worldTally) {
	switch v.Kind() {
	case rawjson.Object:
		for name, member := range v.Members() {
			w.inspectText(name, path+" (a name)", tally)
			if freeMembers[name] && member.Kind() == rawjson.String {
				if text, _ := member.Text(); slices.ContainsFunc(w.hiddenNames(), func(h string) bool { return strings.Contains(text, h) }) {
					tally.freeText.Add(1)
				}
				continue
			}
			w.inspect(member, path+"/"+name, tally)
		}
	case rawjson.Array:
		for element := range v.Elements() {
			w.inspect(element, path+"/-", tally)
		}
	case rawjson.String:
		text, _ := v.Text()
		w.inspectText(text, path, tally)
	default:
	}
}

func (w *messageWorld) inspectText(text, path string, tally *worldTally) {
	at := strings.IndexByte(text, 'z')
	if at < 4 {
		return
	}
	for _, name := range w.hiddenNames() {
		if !strings.Contains(text, name) {
			continue
		}
		// A page that a rule of its own hides while a shown tool names it: the
		// operator's contradiction, and the tool's declaration is the server's.
		if strings.HasSuffix(path, "/_meta/ui/resourceUri") && w.view.HasRule(policy.Resource, name) {
			tally.dropped.Add(1)
			continue
		}
		// A mention's handle about which no rule speaks may be one that only the
		// server's tools understand.
		if strings.HasSuffix(path, "/structuredContent/items/-/uri") && !w.view.HasRule(policy.Resource, name) && !strings.HasPrefix(name, "ui:") {
			continue
		}
		w.leaks = append(w.leaks, fmt.Sprintf("%s at %s", name, path))
	}
}

// hiddenNames are remembered by the world: they do not change.
func (w *messageWorld) hiddenNames() []string {
	if w.hidden == nil {
		w.hidden = []string{}
		for _, name := range w.all() {
			if w.hides(name) {
				w.hidden = append(w.hidden, name)
			}
		}
	}
	return w.hidden
}

func (s *worldServer) all() []string {
	all := slices.Concat(s.prompts, s.resources, s.template)
	for _, t := range s.tools {
		all = append(all, t.name)
	}
	return all
}

// TestNoHiddenNameLeavesInAnyRandomWorld builds random servers, policies and
// callers, sends messages through the whole path behind authentication, and
// holds every byte that comes back against the rules: no hidden name in any
// structural position, and everything visible still works. There are 100,000
// worlds where MCP_APP_CI is set.
func TestNoHiddenNameLeavesInAnyRandomWorld(t *testing.T) {
	worlds := 10_000
	switch {
	case raceEnabled || testing.Short():
		worlds = 2_000
	case os.Getenv("MCP_APP_CI") != "":
		worlds = 100_000
	}
	base := mustLoad(t, strictAuth+"tenant {\nclaim org\n}\n"+showAll)
	if _, err := base.seal.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := base.state.check(t.Context(), &policy.Principal{Issuer: "https://id.example", Subject: "ann"}); err != nil { // waits until revocations are known
		t.Fatal(err)
	}
	var tally worldTally
	const shards = 4
	t.Run("worlds", func(t *testing.T) {
		for shard := range shards {
			t.Run(strconv.Itoa(shard), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(11, uint64(shard)))
				for built := 0; built < worlds/shards; {
					w, err := newMessageWorld(r, base)
					if err != nil {
						t.Fatal(err)
					}
					built++
					tally.worlds.Add(1)
					w.live(t, &tally)
				}
			})
		}
	})
	t.Logf("%d worlds, %d messages, %d uses of hidden and %d of shown names, %d free texts with hidden names passed on, %d pages named by shown tools though hidden by a rule",
		tally.worlds.Load(), tally.messages.Load(), tally.hidden.Load(), tally.shown.Load(), tally.freeText.Load(), tally.dropped.Load())
	for what, n := range map[string]int64{"messages": tally.messages.Load(), "hidden": tally.hidden.Load(), "shown": tally.shown.Load(), "free texts": tally.freeText.Load()} {
		if n < int64(worlds)/10 {
			t.Errorf("only %d %s: the worlds are too plain to prove much", n, what)
		}
	}
}

// live sends some messages and checks what comes back. One thing is done by all
// callers in turn, and by the first once more, so that whatever is remembered of
// one is there for the others; another by one of them.
func (w *messageWorld) live(t *testing.T, tally *worldTally) {
	t.Helper()
	actions := []func(*worldTally) string{
		w.listTools, w.listOthers, w.handshake, w.useTools, w.useOthers, w.readSettings, w.searchMentions, w.resume, w.subscribe,
	}
	chosen := w.r.Perm(len(actions))[:2]
	if w.r.IntN(4) == 0 {
		chosen[0] = 0 // lists of tools are what is remembered most
	}
	for _, p := range append(slices.Clone(w.principals), w.principals[0]) {
		w.act(t, tally, actions, chosen[0], p)
	}
	w.act(t, tally, actions, chosen[1], w.principals[w.r.IntN(callersOfWorld)])
}

// act lets a caller do something.
func (w *messageWorld) act(t *testing.T, tally *worldTally, actions []func(*worldTally) string, i int, p *policy.Principal) {
	t.Helper()
	w.become(p)
	before := len(w.askedFor(0))
	problem := actions[i](tally)
	if problem == "" && len(w.leaks) > 0 {
		problem = "leaks " + strings.Join(w.leaks, ", ")
	}
	if problem != "" {
		t.Fatalf("world %d, action %d, modern %v, %+v: %s\npolicy %+v\nopenai %+v\nserver %+v", tally.worlds.Load(), i, w.modern, *w.principal, problem, w.module.Policy, w.module.OpenAI, w.worldServer)
	}
	for _, name := range w.askedFor(before) {
		if w.hides(name) {
			t.Fatalf("the server was asked for %s, which is hidden from %+v\n%+v", name, *w.principal, w.module.Policy)
		}
	}
}

// ask sends a request and returns its answer, after looking for leaks in all
// that came.
func (w *messageWorld) ask(tally *worldTally, method, params string) (answer rawjson.Value, notices []string, err error) {
	_, messages, err := w.send(method, params)
	tally.messages.Add(1)
	for _, message := range messages {
		w.inspect(message, "", tally)
		if message.Get("id").Exists() {
			answer = message
		}
		if uri, ok := message.Get("params", "uri").Text(); ok {
			notices = append(notices, uri)
		}
	}
	return answer, notices, err
}
