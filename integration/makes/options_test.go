package makes

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// option shows what a line of the openai block does: lines that begin with »
// are left out in a second run, and the answer must differ as told.
type option struct {
	word   string // as the reference has it
	lines  string
	ask    func(t *testing.T, c *caller) string
	gained string // what only the first run has
	lost   string // what only the second run has
}

const (
	searched  = "mentions find {\n»bind_handles acme://*\n}"
	refused   = "does not fit what it is for"
	withPrefs = "settings prefs.read prefs.update\n"
	withFind  = "mentions find\n"
)

var options = []option{
	{"openai entrypoint", "»entrypoint view global", listed, `"type":"global"`, ""},
	{"openai entrypoint", "»entrypoint view thread", listed, `"type":"thread"`, ""},
	{"openai entrypoint", "»entrypoint open file .stl", listed, `{"type":"file","extensions":[".stl"]}`, ""},
	{"openai entrypoint title", "entrypoint view global {\n»title \"A place\"\n}", listed, `"title":"A place"`, `"title":"Viewer"`},
	{"openai entrypoint icon", "entrypoint view global {\n»icon https://cdn.example/v.svg\n}", listed, `"icons":[{"src":"https://cdn.example/v.svg"}]`, ""},
	{"openai entrypoint quick_action", "entrypoint view global {\n»quick_action write New https://cdn.example/n.svg\n}", listed, `"quickAction"`, ""},
	{"openai display", "»display ui://o/* inline", page, `"availableDisplayModes":["inline"]`, ""},
	{"openai display prefer", "display ui://o/* inline fullscreen {\n»prefer inline\n}", page, `"preferredDisplayMode":"inline"`, ""},
	{"openai settings", "»settings prefs.read prefs.update", shaken, `"openai/settings"`, ""},
	{"openai mentions", "»mentions find", shaken, `"openai/mentions"`, ""},
	{"openai mentions bind_handles", searched, found, "#mcp-app-seal=", ""},
	{"openai csp", "»csp ui://o/* {\n»connect https://a.example\n»}", page, `"connect_domains":["https://a.example"]`, ""},
	{"openai csp connect", "csp ui://o/* {\nframe https://z.example\n»connect https://a.example\n}", page, `"connectDomains":["https://a.example"]`, ""},
	{"openai csp resource", "csp ui://o/* {\nframe https://z.example\n»resource https://a.example\n}", page, `"resourceDomains":["https://a.example"]`, ""},
	{"openai csp frame", "csp ui://o/* {\nconnect https://z.example\n»frame https://a.example\n}", page, `"frame_domains":["https://a.example"]`, ""},
	{"openai csp base_uri", "csp ui://o/* {\nframe https://z.example\n»base_uri https://a.example\n}", page, `"baseUriDomains":["https://a.example"]`, ""},
	{"openai csp redirect", "csp ui://o/* {\nframe https://z.example\n»redirect https://a.example\n}", page, `"redirect_domains":["https://a.example"]`, ""},
	{"openai page", "»page ui://o/* {\n»description Parts\n»}", page, `"openai/widgetDescription":"Parts"`, ""},
	{"openai page domain", "page ui://o/* {\n»domain https://a.example\n}", page, `"openai/widgetDomain":"https://a.example"`, ""},
	{"openai page host_domain", "page ui://o/* {\n»host_domain claude x.claudemcpcontent.com\n}", asClaude(page), `"domain":"x.claudemcpcontent.com"`, ""},
	{"openai page border", "page ui://o/* {\n»border on\n}", page, `"openai/widgetPrefersBorder":true`, ""},
	{"openai page description", "page ui://o/* {\n»description Parts\n}", page, `"openai/widgetDescription":"Parts"`, ""},
	{"openai page permissions", "page ui://o/* {\n»permissions camera\n}", page, `"permissions":{"camera":{}}`, ""},
	{"openai tool", "»tool write {\n»title Writer\n»}", listed, `"title":"Writer"`, ""},
	{"openai tool read_only", "tool write {\n»read_only off\n}", listed, `"readOnlyHint":false`, ""},
	{"openai tool destructive", "tool write {\n»destructive on\n}", listed, `"destructiveHint":true`, ""},
	{"openai tool idempotent", "tool write {\n»idempotent on\n}", listed, `"idempotentHint":true`, ""},
	{"openai tool open_world", "tool write {\n»open_world on\n}", listed, `"openWorldHint":true`, ""},
	{"openai tool title", "tool write {\n»title Writer\n}", listed, `"title":"Writer"`, ""},
	{"openai tool description", "tool write {\n»description \"Writes.\"\n}", listed, `"description":"Writes."`, ""},
	{"openai tool invoking", "tool write {\n»invoking Writing\n}", listed, `"openai/toolInvocation/invoking":"Writing"`, ""},
	{"openai tool invoked", "tool write {\n»invoked Written\n}", listed, `"openai/toolInvocation/invoked":"Written"`, ""},
	{"openai tool visibility", "tool write {\n»visibility app\n}", listed, `"openai/visibility":"private"`, ""},
	{"openai mirror", "»mirror off", listed, "", `"openai/outputTemplate"`},
	{"openai repair", "»repair mime", page, `"text/html;profile=mcp-app"`, `"text/html+skybridge"`},
	{"openai repair", "»repair schemas", listed, "Must match the pattern", `"pattern"`},
	{"openai resource_path", "»resource_path pass", echoed, "/home/user/a.stl", ""},
	{"openai user_location", "»user_location strip", echoed, "", "Vienna"},
	{"openai safe_errors", withPrefs + "»safe_errors", changed, "could not complete", "10.0.0.1"},
	{"openai rebuild_content", withPrefs + "»rebuild_content", settingsRead, "", "a private remark"},
	{"openai spec", withFind + "»spec e314720", inLegacy(shaken), "", `"openai/mentions"`},
	{"openai spec", withFind + "»spec e314720", inLegacy(listed), `"mentions/search"`, ""},
	{"openai limits", withPrefs + "»limits {\n»metadata_bytes 64\n»}", settingsRead, refused, ""},
	{"openai limits metadata_bytes", withPrefs + "limits {\n»metadata_bytes 64\n}", settingsRead, refused, ""},
	{"openai limits metadata_depth", withPrefs + "limits {\n»metadata_depth 2\n}", settingsRead, refused, ""},
	{"openai limits settings_fields", withPrefs + "limits {\n»settings_fields 2\n}", settingsRead, refused, ""},
	{"openai limits settings_string", withPrefs + "limits {\n»settings_string 5\n}", settingsRead, refused, ""},
	{"openai limits layout_groups", withPrefs + "limits {\n»layout_groups 1\n}", settingsRead, refused, ""},
	{"openai limits layout_items", withPrefs + "limits {\n»layout_items 1\n}", settingsRead, refused, ""},
	{"openai limits mention_query", withFind + "limits {\n»mention_query 3\n}", found, "at most 3 characters", "acme://one"},
	{"openai limits mention_items", withFind + "limits {\n»mention_items 1\n}", found, refused, "acme://one"},
	{"openai limits mention_handle", withFind + "limits {\n»mention_handle 5\n}", found, refused, "acme://one"},
	{"openai limits mention_title", withFind + "limits {\n»mention_title 3\n}", found, refused, "acme://one"},
	{"openai limits mention_icons", withFind + "limits {\n»mention_icons 1\n}", found, refused, "acme://one"},
}

// shownElsewhere are words whose effect is shown by tests with other parts.
var shownElsewhere = []string{
	"openai forms", // TestFormsPassWhereTheOperatorSaysSo and those around it
	// In a browser, by the tests of the page client.
	"openai page client", "openai page navigate", "openai page notice", "openai page handshake", "openai page display_modes", "openai page hosts",
}

func TestEveryOptionHasAnEffect(t *testing.T) {
	for _, o := range options {
		t.Run(o.word, func(t *testing.T) {
			with := o.run(t, "with", strings.ReplaceAll(o.lines, "»", ""))
			var kept []string
			for line := range strings.SplitSeq(o.lines, "\n") {
				if !strings.HasPrefix(line, "»") {
					kept = append(kept, line)
				}
			}
			without := o.run(t, "without", strings.Join(kept, "\n"))
			if o.gained != "" && (!strings.Contains(with, o.gained) || strings.Contains(without, o.gained)) {
				t.Errorf("%q is to be there with the line only:\nwith    %s\nwithout %s", o.gained, with, without)
			}
			if o.lost != "" && (strings.Contains(with, o.lost) || !strings.Contains(without, o.lost)) {
				t.Errorf("%q is to be there without the line only:\nwith    %s\nwithout %s", o.lost, with, without)
			}
		})
	}
}

// TestEveryOptionIsShown compares the table above with the reference.
func TestEveryOptionIsShown(t *testing.T) {
	shown := slices.Clone(shownElsewhere)
	for _, o := range options {
		shown = append(shown, o.word)
	}
	words := referenceWords(t)
	if len(words) < 40 {
		t.Fatalf("only %d words found in the reference", len(words))
	}
	for _, word := range words {
		if !slices.Contains(shown, word) {
			t.Errorf("nothing shows what %q does", word)
		}
	}
	for _, o := range options {
		if !slices.Contains(words, o.word) {
			t.Errorf("the reference does not know %q", o.word)
		}
	}
}

// referenceWords reads the words of the openai blocks from the reference.
func referenceWords(t *testing.T) []string {
	t.Helper()
	file, err := os.Open("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var words []string
	block := ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			block = ""
			if name, ok := strings.CutPrefix(line, "### `openai"); ok {
				block = "openai" + strings.TrimSuffix(name, "`")
			}
		}
		if row, ok := strings.CutPrefix(line, "| `"); ok && block != "" {
			word, _, _ := strings.Cut(row, " ")
			words = append(words, block+" "+strings.Trim(word, "`"))
		}
	}
	return words
}

// run answers what a client gets under some lines.
func (o option) run(t *testing.T, name, lines string) (answer string) {
	t.Helper()
	t.Run(name, func(t *testing.T) { answer = o.answer(t, lines) })
	return answer
}

func (o option) answer(t *testing.T, lines string) string {
	t.Helper()
	g := start(t, "policy {\n\ttool * {\n\t\tanonymous\n\t}\n}\nopenai {\n"+lines+"\n}\n", stack.Config{Upstream: optionServer()})
	return o.ask(t, &caller{g: g, era: modern, capabilities: clientCapabilities, header: map[string][]string{"Mcp-Protocol-Version": {modern}}})
}

func listed(t *testing.T, c *caller) string {
	t.Helper()
	text := ""
	for _, tool := range c.all(t, "tools/list", "tools") {
		text += string(tool) + "\n"
	}
	return text
}

func page(t *testing.T, c *caller) string {
	t.Helper()
	return string(c.call(t, "resources/read", "ui://o/page", `{"uri":"ui://o/page"}`).message)
}

func shaken(t *testing.T, c *caller) string {
	t.Helper()
	if c.era == legacy {
		return c.record.String()
	}
	return string(c.call(t, "server/discover", "", `{}`).message)
}

func found(t *testing.T, c *caller) string {
	t.Helper()
	return string(c.tool(t, "find", `{"query":"anything"}`).message)
}

func settingsRead(t *testing.T, c *caller) string {
	t.Helper()
	return string(c.tool(t, "prefs.read", `{}`).message)
}

func changed(t *testing.T, c *caller) string {
	t.Helper()
	return string(c.tool(t, "prefs.update", `{"set":{"a":"x"}}`).message)
}

func echoed(t *testing.T, c *caller) string {
	t.Helper()
	c.meta = `{"openai/resource":{"path":"/home/user/a.stl"},"openai/userLocation":{"city":"Vienna"}}`
	return string(c.tool(t, "echo", `{}`).message)
}

// inLegacy asks in a session of the older era.
func inLegacy(ask func(*testing.T, *caller) string) func(*testing.T, *caller) string {
	return func(t *testing.T, c *caller) string {
		t.Helper()
		return ask(t, c.g.caller(t, legacy, person{}))
	}
}

// asClaude asks as the client of another host.
func asClaude(ask func(*testing.T, *caller) string) func(*testing.T, *caller) string {
	return func(t *testing.T, c *caller) string {
		t.Helper()
		c.client = `{"name":"claude-ai","version":"1"}`
		return ask(t, c)
	}
}
