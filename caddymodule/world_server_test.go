package caddymodule

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// worldTool is a tool of a random server.
type worldTool struct {
	name, annotations, page string
	input, output           string // schemas
	quick                   string // target of the quick action it declares
	marked                  bool   // as mention source, in the old way
}

// worldServer is a random MCP server. It believes everybody and shows all names
// to all; whatever a caller is not to see has to be taken out on the way. Names
// are like "ab.n042z": the number makes them findable in any text.
type worldServer struct {
	r                            *rand.Rand
	tools                        []worldTool
	prompts, resources, template []string
	readTool, updateTool, search string // what it advertises itself, or ""
	mentioned                    []string
	pageSize                     int
	sse                          bool
	free                         []string // names for free text

	mu    sync.Mutex // the gateway asks questions of its own beside the caller's
	asked []string   // the names that requests were about
	subs  []string   // resources that somebody subscribed to
	watch func(r *http.Request, body []byte)
	plain bool // free text is always the same
}

const (
	readOnlyHints = `{"readOnlyHint":true}`
	plainInput    = `{"type":"object","properties":{}}`
)

func newWorldServer(r *rand.Rand) *worldServer {
	s := &worldServer{r: r, pageSize: 1 + r.IntN(4), sse: r.IntN(2) == 0}
	number := 0
	name := func(prefixes ...string) string {
		number++
		return fmt.Sprintf("%sn%03dz", prefixes[r.IntN(len(prefixes))], number)
	}
	names := func(most int, prefixes ...string) (list []string) {
		for range 1 + r.IntN(most) {
			list = append(list, name(prefixes...))
		}
		return list
	}
	s.prompts = names(3, "", "a.", "b.")
	s.resources = names(4, "ui://a/", "ui://b/", "deck://")
	s.template = names(2, "deck://{id}/", "ui://a/{x}/")
	for range 2 + r.IntN(5) {
		t := worldTool{name: name("", "a.", "b.", "a.b."), input: plainInput}
		t.annotations = []string{``, `{}`, readOnlyHints, `{"readOnlyHint":false,"destructiveHint":false}`}[r.IntN(4)]
		if r.IntN(2) == 0 {
			if page := s.resources[r.IntN(len(s.resources))]; strings.HasPrefix(page, "ui:") {
				t.page = page
			}
		}
		if len(s.tools) > 0 && r.IntN(3) == 0 {
			t.quick = s.tools[r.IntN(len(s.tools))].name
		}
		s.tools = append(s.tools, t)
	}
	if r.IntN(2) == 0 {
		read := worldTool{name: name("", "a."), annotations: readOnlyHints, input: plainInput, output: `{"type":"object"}`}
		update := worldTool{name: name("", "a.", "b."), annotations: `{"readOnlyHint":false}`, input: `{"type":"object","properties":{"set":{"type":"object"}},"required":["set"]}`}
		s.tools = append(s.tools, read, update)
		s.readTool, s.updateTool = read.name, update.name
	}
	if r.IntN(2) == 0 {
		s.search = name("", "a.", "b.")
		s.tools = append(s.tools, worldTool{name: s.search, annotations: readOnlyHints, marked: r.IntN(2) == 0, input: `{"type":"object","properties":{"query":{"type":"string"}}}`})
	}
	r.Shuffle(len(s.tools), func(i, j int) { s.tools[i], s.tools[j] = s.tools[j], s.tools[i] })
	s.mentioned = append(pickSome(r, s.resources), "acme://opaque")
	for _, t := range s.tools {
		s.free = append(s.free, t.name)
	}
	s.free = append(append(s.free, s.prompts...), s.resources...)
	return s
}

func pickSome[T any](r *rand.Rand, from []T) []T {
	some := []T{}
	for _, x := range from {
		if r.IntN(2) == 0 {
			some = append(some, x)
		}
	}
	return some
}

// Annotations and ToolsShowing implement policy.Facts by the plain meaning of
// what the server says.
func (s *worldServer) Annotations(tool string) ([]byte, error) {
	for _, t := range s.tools {
		if t.name == tool {
			return []byte(t.annotations), nil
		}
	}
	return nil, fmt.Errorf("no tool %s", tool)
}

func (s *worldServer) ToolsShowing(uri string) (names []string, _ error) {
	for _, t := range s.tools {
		if t.page == uri {
			names = append(names, t.name)
		}
	}
	return names, nil
}

// text is free text with a name in it, which nobody promises to judge.
func (s *worldServer) text() string {
	if s.plain {
		return "text"
	}
	return "see " + s.free[s.r.IntN(len(s.free))]
}

func (s *worldServer) tool(t worldTool) string {
	out := fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s`, t.name, s.text(), t.input)
	if t.annotations != "" {
		out += `,"annotations":` + t.annotations
	}
	if t.output != "" {
		out += `,"outputSchema":` + t.output
	}
	var meta []string
	if t.page != "" {
		meta = append(meta, fmt.Sprintf(`"ui":{"resourceUri":%q}`, t.page))
	}
	if t.quick != "" {
		meta = append(meta, fmt.Sprintf(`"openai/ui":{"entrypoints":[{"type":"global","quickAction":{"title":"Go","icons":[{"src":"https://x.example/i.svg"}],"target":{"type":"tool","name":%q}}}]}`, t.quick))
	}
	if t.marked {
		meta = append(meta, `"openai/extensions":{"mentions/search":{}}`)
	}
	if len(meta) > 0 {
		out += `,"_meta":{` + strings.Join(meta, ",") + `}`
	}
	return out + "}"
}

func objects(member string, names []string, more string) string {
	list := []string{}
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{%q:%q%s}`, member, name, more))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// toolPage is one page of tools; the cursor is the name of the last one.
func (s *worldServer) toolPage(cursor string) string {
	from := 0
	if cursor != "" {
		from = 1 + slices.IndexFunc(s.tools, func(t worldTool) bool { return t.name == cursor })
	}
	to := min(from+s.pageSize, len(s.tools))
	list := []string{}
	for _, t := range s.tools[from:to] {
		list = append(list, s.tool(t))
	}
	next := ""
	if to < len(s.tools) {
		next = fmt.Sprintf(`,"nextCursor":%q`, s.tools[to-1].name)
	}
	return `{"tools":[` + strings.Join(list, ",") + `]` + next + `}`
}

func (s *worldServer) capabilities() string {
	extensions := []string{`"other":{}`}
	if s.readTool != "" {
		extensions = append(extensions, fmt.Sprintf(`"openai/settings":{"readTool":%q,"updateTool":%q}`, s.readTool, s.updateTool))
	}
	if s.search != "" {
		extensions = append(extensions, fmt.Sprintf(`"openai/mentions":{"searchTool":%q}`, s.search))
	}
	return `{"tools":{},"extensions":{` + strings.Join(extensions, ",") + `}}`
}

// settings is an answer whose layout names every tool, each third one in a group
// of its own.
func (s *worldServer) settings() string {
	groups := []string{`{"kind":"group","title":"Values","items":[{"kind":"property","property":"dark"}]}`}
	for i, t := range s.tools {
		groups = append(groups, fmt.Sprintf(`{"kind":"group","title":"Group %d","items":[{"kind":"tool","tool":%q,"title":"Tool"}]}`, i, t.name))
	}
	structured := `{"schema":{"type":"object","properties":{"dark":{"type":"boolean","title":"Dark"}},"required":["dark"],"additionalProperties":false},"values":{"dark":true},"layout":[` + strings.Join(groups, ",") + `]}`
	text, _ := json.Marshal(structured)
	return `{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + structured + `}`
}

func (s *worldServer) mentions() string {
	items := objects("uri", s.mentioned, `,"type":"resource_link","name":"Item"`)
	return `{"content":[{"type":"text","text":"` + s.text() + `"}],"structuredContent":{"items":` + items + `}}`
}

// blocks links to every resource, and embeds it.
func (s *worldServer) blocks() string {
	list := []string{fmt.Sprintf(`{"type":"text","text":%q}`, s.text())}
	for _, uri := range s.resources {
		list = append(list, fmt.Sprintf(`{"type":"resource_link","uri":%q,"name":"x"},{"type":"resource","resource":{"uri":%q,"text":"x"}}`, uri, uri))
	}
	return "[" + strings.Join(list, ",") + "]"
}

type worldRequest struct {
	Method string
	ID     json.RawMessage
	Params struct {
		Name, URI, Cursor string
		Ref               struct{ Name, URI string }
		Notifications     struct{ ResourceSubscriptions []string }
	}
}

func (s *worldServer) has(name string) bool {
	return slices.ContainsFunc(s.tools, func(t worldTool) bool { return t.name == name }) ||
		slices.Contains(s.prompts, name) || slices.Contains(s.resources, name) || slices.Contains(s.template, name)
}

func (s *worldServer) answer(q worldRequest) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	about := q.Params.Name + q.Params.URI + q.Params.Ref.Name + q.Params.Ref.URI
	if about != "" {
		s.asked = append(s.asked, about)
		if !s.has(about) {
			return fmt.Sprintf(`"error":{"code":-32602,"message":"unknown %s"}`, about)
		}
	}
	s.subs = append(s.subs, q.Params.Notifications.ResourceSubscriptions...)
	result := `{}`
	switch q.Method {
	case "tools/list":
		result = s.toolPage(q.Params.Cursor)
	case "prompts/list":
		result = `{"prompts":` + objects("name", s.prompts, "") + `}`
	case "resources/list":
		result = `{"resources":` + objects("uri", s.resources, `,"name":"x"`) + `}`
	case "resources/templates/list":
		result = `{"resourceTemplates":` + objects("uriTemplate", s.template, `,"name":"x"`) + `}`
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":` + s.capabilities() + `,"instructions":"` + s.text() + `","serverInfo":{"name":"world","version":"1"}}`
	case "server/discover":
		result = `{"supportedVersions":["2026-07-28"],"capabilities":` + s.capabilities() + `,"instructions":"` + s.text() + `"}`
	case "tools/call":
		switch about {
		case s.readTool:
			result = s.settings()
		case s.search:
			result = s.mentions()
		default:
			result = `{"content":` + s.blocks() + `}`
		}
	case "prompts/get":
		result = fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"resource_link","uri":%q,"name":"x"}},{"role":"user","content":%s}]}`, s.resources[0], s.blocks())
	case "resources/read":
		result = fmt.Sprintf(`{"contents":[{"uri":%q,"text":%q}]}`, about, s.text())
	case "completion/complete":
		result = `{"completion":{"values":["fine"]}}`
	}
	return `"result":` + result
}

// notices are what the server says unasked.
func (s *worldServer) notices() string {
	out := ": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
	for _, uri := range s.resources {
		out += fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":%q}}\n\n", uri)
	}
	return out
}

// askedFor returns the names that requests were about, from the n-th on.
func (s *worldServer) askedFor(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked[n:])
}

// subscribed returns what was subscribed to since it was asked for last.
func (s *worldServer) subscribed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	subs := s.subs
	s.subs = nil
	return subs
}

// ServeHTTP implements caddyhttp.Handler.
func (s *worldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodGet { // a resumed stream, with answers to earlier questions
		w.Header().Set("Content-Type", "text/event-stream")
		_, err := fmt.Fprintf(w, "%sdata: {\"jsonrpc\":\"2.0\",\"id\":1,%s}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,%s}\n\n", s.notices(),
			s.answer(worldRequest{Method: "tools/list"}), s.answer(worldRequest{Method: "resources/list"}))
		return err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if s.watch != nil {
		s.watch(r, body)
	}
	var q worldRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	if len(q.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	message := `{"jsonrpc":"2.0","id":` + string(q.ID) + `,` + s.answer(q) + `}`
	if s.sse {
		w.Header().Set("Content-Type", "text/event-stream")
		_, err = io.WriteString(w, s.notices()+"event: message\ndata: "+message+"\n\n")
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = io.WriteString(w, message)
	return err
}

// worldPolicy is a random policy for a server.
func worldPolicy(r *rand.Rand, s *worldServer, mixed bool) policy.Config {
	c := policy.Config{Mixed: mixed}
	if !mixed && r.IntN(4) == 0 {
		c.Default = policy.Allow
	}
	// Where no rule asks for annotations, lists are remembered for other callers.
	annotated := r.IntN(2) == 0
	if annotated && r.IntN(4) == 0 {
		c.Annotations = map[string]bool{policy.ReadOnlyHint: true}
	}
	rule := func(kind policy.Kind, pattern string) {
		rule := policy.Rule{Kind: kind, Pattern: pattern}
		switch r.IntN(6) {
		case 0:
			rule.Deny = true
			c.Rules = append(c.Rules, rule)
			return
		case 1:
			rule.Tenants = []string{[]string{"acme", "globex"}[r.IntN(2)]}
		case 2:
			rule.Scopes = []string{"w"}
			if r.IntN(2) == 0 {
				rule.OnMissingScope = policy.Challenge
			}
		case 3:
			if kind == policy.Tool && annotated {
				rule.Annotations = map[string]bool{policy.ReadOnlyHint: r.IntN(2) == 0}
			}
		}
		rule.Anonymous = mixed && len(rule.Tenants)+len(rule.Scopes) == 0
		c.Rules = append(c.Rules, rule)
	}
	for kind, names := range map[policy.Kind][]string{policy.Prompt: s.prompts, policy.Resource: s.resources, policy.Template: s.template} {
		for _, name := range pickSome(r, names) {
			rule(kind, name)
		}
	}
	for _, t := range s.tools {
		if r.IntN(2) == 0 {
			rule(policy.Tool, t.name)
		}
	}
	for kind, patterns := range map[policy.Kind][]string{
		policy.Tool: {"*", "a.*", "a.b.*"}, policy.Prompt: {"*", "a.*"}, policy.Resource: {"*", "ui://*", "ui://a/*"}, policy.Template: {"*", "deck:*"},
	} {
		for _, pattern := range patterns {
			if r.IntN(3) == 0 {
				rule(kind, pattern)
			}
		}
	}
	return c
}

// worldDeclarations are the operator's words about a server: sometimes what it
// advertises itself, sometimes more.
func worldDeclarations(r *rand.Rand, s *worldServer) openai.Declarations {
	var d openai.Declarations
	if s.readTool != "" && r.IntN(2) == 0 {
		d.Settings = &openai.Settings{ReadTool: s.readTool, UpdateTool: s.updateTool}
	}
	if s.search != "" && r.IntN(2) == 0 {
		d.Mentions = &openai.Mentions{SearchTool: s.search}
	}
	if r.IntN(2) == 0 {
		target := s.tools[r.IntN(len(s.tools))].name
		d.Entrypoints = []openai.Entrypoint{{Tool: s.tools[r.IntN(len(s.tools))].name, Type: "global", QuickAction: &openai.QuickAction{
			Title: "Go", Icons: []openai.Icon{{Src: "https://x.example/i.svg"}}, Tool: target,
		}}}
	}
	return d
}
