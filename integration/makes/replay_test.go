package makes

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// The cases that were collected from the texts and SDKs of the extensions, by
// their numbers. Numbers that are not here told nothing about a gateway.
var replayed = []int{
	1, 2, 5, 8, 9, 11, 12, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26, 29, 30, 31, 32, 34, 35, 36, 37, 39, 40, 41, 43, 44, 45,
	46, 48, 49, 50, 52, 53, 54, 55, 56, 57, 58, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70,
}

// replayedElsewhere names the tests of cases that need a running gateway.
var replayedElsewhere = map[int]struct{ file, test string }{
	8:  {"golden_test.go", "TestWhatEveryKindOfCallerGets"}, // pages of one tool
	9:  {"golden_test.go", "TestWhatEveryKindOfCallerGets"}, // handshakes in events
	34: {"../e2e/hidden_test.go", "TestAHiddenToolIsNotRun"},
	45: {"../e2e/openai_test.go", "TestPagesKeepTheirBytes"},
	70: {"../e2e/boundary_test.go", "TestMirroredHeadersMustAgreeWithTheBody"},
}

// judge answers nil if an input is accepted.
type judge func(t *testing.T, input string) error

type replay struct {
	number int
	judge  judge
	input  string
	ok     bool
}

const (
	unitsSchema   = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"units":{"type":"string","title":"Units","enum":["mm","in"]},"showGrid":{"type":"boolean","title":"Grid"}},"required":["units"],"additionalProperties":false}`
	unitsValues   = `"values":{"units":"mm","showGrid":true}`
	propertyItem  = `{"kind":"property","property":"units"}`
	quickAction   = `{"title":"New","icons":[{"src":"https://cdn.example/n.svg"}],"target":{"type":"tool","name":"cad.reset"}}`
	pairOfTools   = `{"readTool":"settings.read","updateTool":"settings.update"}`
	resourceField = `"x-openai-input":{"type":"resource","options":[{"uri":"cad://hex","name":"hex"}]`
)

func layoutOf(items string) string {
	return `{"schema":` + unitsSchema + `,` + unitsValues + `,"layout":[{"kind":"group","title":"G","items":[` + items + `]}]}`
}

func schemaOf(field string) string {
	return `{"schema":{"type":"object","properties":{"a":` + field + `}},"values":{"a":"x"}}`
}

var replays = []replay{
	{1, capabilities(false, `{"extensions":{"openai/settings":`+pairOfTools+`},"experimental":{"openai/settings":`+pairOfTools+`}}`), `{}`, true},
	{2, capabilities(true, `{"extensions":{"openai/settings":`+pairOfTools+`}}`), `{}`, true},
	{5, capabilities(true, `{"extensions":{"io.modelcontextprotocol/ui":{},"openai/extensions":{},"openai/settings":`+pairOfTools+`}}`), `{"extensions":{"io.modelcontextprotocol/ui":{},"openai/extensions":{}}}`, true},
	{11, settingsPage, `{"schema":{"properties":{}},"values":{}}`, false},
	{11, settingsPage, `{"schema":{"type":"string","properties":{}},"values":{}}`, false},
	{11, settingsPage, `{"schema":{"type":["object","null"],"properties":{}},"values":{}}`, false},
	{12, settingsPage, `{"schema":` + unitsSchema + `,"values":{"units":"mm"}}`, false},
	{12, settingsPage, `{"schema":` + unitsSchema + `,"values":{}}`, false},
	{15, settingsPage, layoutOf(propertyItem + `,` + propertyItem), false},
	{16, settingsPage, layoutOf(`{"kind":"tool","tool":"cad.reset"}`), true},
	{16, settingsPage, layoutOf(`{"kind":"tool","tool":"cad.reset","title":"Reset"}`), true},
	{17, settingsPage, layoutOf(`{"kind":"group","title":"H","items":[]}`), false},
	{17, settingsPage, layoutOf(`{"kind":"property","property":"units","x":1}`), false},
	{18, settingsPage, schemaOf(`{"type":"object","title":"A"}`), false},
	{18, settingsPage, schemaOf(`{"type":"array","title":"A"}`), false},
	{18, settingsPage, schemaOf(`{"type":"null","title":"A"}`), false},
	{18, settingsPage, schemaOf(`{"$ref":"#/$defs/a","title":"A"}`), false},
	{18, settingsPage, schemaOf(`{"anyOf":[{"type":"string"}],"title":"A"}`), false},
	{19, settingsPage, schemaOf(`{"type":"number","title":"A","enum":[1]}`), false},
	{19, settingsPage, schemaOf(`{"type":"string","title":"A","enum":[]}`), false},
	{19, settingsPage, schemaOf(`{"type":"string","title":"A","enum":[1]}`), false},
	{21, settingsPage, schemaOf(`{"type":"string","title":"A","default":"x"}`), true},
	{22, settingsPage, `{"schema":` + unitsSchema + `,"values":{"units":"mm","showGrid":true,"x":1}}`, false},
	{23, settingsKept, `{"schema":` + unitsSchema + `,` + unitsValues + `}`, true},
	{24, layoutDropped, layoutOf(propertyItem + `,{"kind":"tool","tool":"hidden"}`), true},
	{25, settingsSet, `{"set":{}}`, false},
	{26, settingsSet, `{"set":{"unknown":true}}`, false},
	{29, settingsSet, `{"set":{"units":"in"},"extra":true}`, false},
	{30, updateAnswered, `{"content":[],"structuredContent":{"values":{"units":"mm","showGrid":false}}}`, true},
	{30, updateAnswered, `{"content":[],"structuredContent":{"values":{"showGrid":false}}}`, false},
	{31, updateAnswered, `{"content":[{"type":"text","text":"min is 5"}],"isError":true}`, true},
	{32, updateAnswered, `{"content":[{"type":"text","text":"min is above max"}],"isError":true}`, true},
	{35, ownEntrypoint, `{"type":"global"}`, true},
	{35, ownEntrypoint, `{"type":"thread"}`, true},
	{35, ownEntrypoint, `{"type":"file","extensions":[".stl",".step"]}`, true},
	{36, ownEntrypoint, `{"type":"file","extensions":["stl"]}`, false},
	{36, ownEntrypoint, `{"type":"file","extensions":[" .csv"]}`, false},
	{37, ownEntrypoint, `{"type":"file"}`, false},
	{39, ownEntrypoint, `{"type":"global","quickAction":` + quickAction + `}`, true},
	{40, ownEntrypoint, withAction(`"title":"New"`, `"title":" "`), false},
	{40, ownEntrypoint, withAction(`[{"src":"https://cdn.example/n.svg"}]`, `[]`), false},
	{40, ownEntrypoint, withAction(`,"name":"cad.reset"`, ``), false},
	{40, ownEntrypoint, withAction(`"cad.reset"`, `" "`), false},
	{40, ownEntrypoint, withAction(`"type":"tool",`, ``), false},
	{40, ownEntrypoint, withAction(`"type":"tool"`, `"type":"url"`), false},
	{40, ownEntrypoint, withAction(`"name":"cad.reset"`, `"name":"cad.reset","arguments":[]`), false},
	{40, ownEntrypoint, withAction(`{"type":"tool","name":"cad.reset"}`, `"cad.reset"`), false},
	{40, ownEntrypoint, withAction(`"target"`, `"deepLink":"/a","target"`), false},
	{41, ownEntrypoint, `{"type":"thread","quickAction":` + quickAction + `}`, false},
	{41, ownEntrypoint, `{"type":"file","extensions":[".stl"],"quickAction":` + quickAction + `}`, false},
	{43, entrypointsWarned, `{"type":"global"},{"type":"thread"}`, true},
	{44, displayModes, `["inline","fullscreen"]`, true},
	{44, displayModes, `["pip"]`, false},
	{46, appLink, "codex://plugins/bits-and-bolts/app/cad.library?path=%2Fparts%3Ftag%3Dbolt%26sort%3Dasc", true},
	{48, appLink, "codex://plugins/bits-and-bolts/app/cad.library?path=parts", false},
	{48, appLink, "codex://plugins/bits-and-bolts/app/cad.library?path=%2Fparts%23x", false},
	{48, appLink, "codex://plugins/bits-and-bolts/app/cad.library?path=%2F%2Fhost", false},
	{49, toolSegment, "a/b", true},
	{50, marketplace, "acme", false},
	{52, linkTarget, "cad.tray", false},
	{52, linkTarget, "cad.library", true},
	{53, mentionQuery, `{"query":""}`, true},
	{53, mentionQuery, `{}`, false},
	{53, mentionQuery, `{"query":1}`, false},
	{54, mentionQuery, `{"query":"x","path":[]}`, true},
	{55, mentionItems, `[{"type":"resource_link","uri":"cad://a","name":"a"}]`, true},
	{55, mentionItems, `[{"type":"resource","resourceUri":"cad://a","title":"A"}]`, true},
	{55, mentionItems, `[{"type":"group","title":"A","items":[]}]`, false},
	{56, mentionsAdvertised, strings.Replace(typescriptMentions, `"annotations":{"readOnlyHint":true},`, ``, 1), false},
	{57, ownMentionsAdvertised, strings.Replace(typescriptMentions, `["app"]`, `["model"]`, 1), false},
	{58, mentionsAdvertised, typescriptMentions, true},
	{60, markerGone, typescriptMentions, true},
	{61, legacyForm, goodForm, false},
	{62, formAnswer(resourceField + `}`), `{"action":"accept","content":{"part":"file:///x"}}`, false},
	{62, formAnswer(resourceField + `,"userOptions":{}}`), `{"action":"accept","content":{"part":"file:///x"}}`, true},
	{63, formAnswer(resourceField + `}`), `{"action":"accept","content":{}}`, false},
	{63, formAnswer(resourceField + `}`), `{"action":"cancel"}`, true},
	{63, formAnswer(resourceField + `}`), `{"action":"decline"}`, true},
	{64, formAnswer(resourceField + `}`), `{"action":"unexpected"}`, false},
	{65, modernRound(clientCapabilities), modernForm, true},
	{66, modernRound(withoutForms), modernForm, false},
	{67, formSchemaOf, `{"type":"array","items":{"type":"string"},"default":["cad://hex"],"x-openai-input":{"type":"resource","selection":"implicit","options":[{"uri":"cad://hex","name":"hex"}]}}`, false},
	{67, formSchemaOf, `{"type":"string","default":"cad://nut",` + resourceField + `}}`, false},
	{67, formSchemaOf, `{"type":"string","x-openai-input":{"type":"resource","selection":"explicit","options":[]}}`, false},
	{68, formSchemaOf, `{"type":"string"}`, true}, // under the name __proto__
	{69, resourcePath("pass"), `{"_meta":{"openai/resource":{"path":"/home/a.stl"},"k":1}}`, true},
	{69, resourcePath("pass"), `{"_meta":{"openai/resource":{"path":1}}}`, false},
	{69, resourcePath("pass"), `{"_meta":{"k":1}}`, true},
}

func TestCollectedCases(t *testing.T) {
	seen := make(map[int]bool)
	for _, r := range replays {
		seen[r.number] = true
		t.Run(fmt.Sprint(r.number), func(t *testing.T) {
			if err := r.judge(t, r.input); (err == nil) != r.ok {
				t.Errorf("%s: %v, want accepted %v", r.input, err, r.ok)
			}
		})
	}
	for number, where := range replayedElsewhere {
		src, err := os.ReadFile(where.file)
		if err != nil || !strings.Contains(string(src), "func "+where.test+"(") {
			t.Errorf("case %d: %s has no %s, %v", number, where.file, where.test, err)
		}
		seen[number] = true
	}
	for _, number := range replayed {
		if !seen[number] {
			t.Errorf("nothing replays case %d", number)
		}
	}
}

// catalog is the tools that the judges know of.
type catalog map[string]string

func (c catalog) Tool(name string) (rawjson.Value, bool) {
	src, ok := c[name]
	return rawjson.Value(src), ok
}

var cadCatalog = catalog{"settings.read": typescriptRead, "settings.update": typescriptUpdate, "cad.reset": cadReset, "search_mentions": typescriptMentions}

func overlay(t *testing.T, d openai.Declarations) *openai.Overlay {
	t.Helper()
	o, err := openai.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func value(t *testing.T, text string) rawjson.Value {
	t.Helper()
	v, err := rawjson.Parse([]byte(text), 64)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// coded makes an error of findings of some code.
func coded(found []openai.Finding, code string) error {
	for _, f := range found {
		if f.Code == code {
			return errors.New(f.Detail)
		}
	}
	return nil
}

func same(got rawjson.Value, want string) error {
	if string(got) != want {
		return fmt.Errorf("became %s, want %s", got, want)
	}
	return nil
}

func capabilities(isModern bool, want string) judge {
	return func(t *testing.T, input string) error {
		t.Helper()
		o := overlay(t, openai.Declarations{Settings: &openai.Settings{ReadTool: "settings.read", UpdateTool: "settings.update"}})
		got, _ := o.Capabilities(isModern, value(t, input), cadCatalog)
		return same(got, want)
	}
}

func settingsPage(t *testing.T, input string) error {
	t.Helper()
	_, _, _, err := overlay(t, openai.Declarations{}).SettingsRead(value(t, input), openai.SettingsContext{Catalog: cadCatalog})
	return err
}

func settingsKept(t *testing.T, input string) error {
	t.Helper()
	got, _, _, err := overlay(t, openai.Declarations{}).SettingsRead(value(t, input), openai.SettingsContext{Catalog: cadCatalog})
	if err != nil {
		return err
	}
	return same(got, input)
}

func layoutDropped(t *testing.T, input string) error {
	t.Helper()
	got, _, _, err := overlay(t, openai.Declarations{}).SettingsRead(value(t, input), openai.SettingsContext{Catalog: cadCatalog})
	if err != nil {
		return err
	}
	return same(got, strings.Replace(input, `,{"kind":"tool","tool":"hidden"}`, "", 1))
}

func settingsContext(t *testing.T) openai.SettingsContext {
	t.Helper()
	schema, err := overlay(t, openai.Declarations{}).SettingsSchema(value(t, unitsSchema))
	if err != nil {
		t.Fatal(err)
	}
	return openai.SettingsContext{Catalog: cadCatalog, Schema: schema}
}

func settingsSet(t *testing.T, input string) error {
	t.Helper()
	return overlay(t, openai.Declarations{}).SettingsUpdate(value(t, input), settingsContext(t))
}

// updateAnswered accepts an answer that passes as it is and without a word.
func updateAnswered(t *testing.T, input string) error {
	t.Helper()
	got, found := overlay(t, openai.Declarations{}).SettingsUpdateResult(value(t, input), settingsContext(t))
	return errors.Join(same(got, input), coded(found, "settings-update-result"))
}

func withAction(from, to string) string {
	return `{"type":"global","quickAction":` + strings.Replace(quickAction, from, to, 1) + `}`
}

func toolWith(t *testing.T, entrypoints string) (rawjson.Value, []openai.Finding) {
	t.Helper()
	tool, err := value(t, cadLibrary).Set(value(t, "["+entrypoints+"]"), "_meta", "openai/ui", "entrypoints")
	if err != nil {
		t.Fatal(err)
	}
	return overlay(t, openai.Declarations{}).Tool(tool)
}

func ownEntrypoint(t *testing.T, input string) error {
	t.Helper()
	_, found := toolWith(t, input)
	return coded(found, "entrypoint-invalid")
}

// entrypointsWarned accepts entrypoints that stay, with a warning.
func entrypointsWarned(t *testing.T, input string) error {
	t.Helper()
	tool, found := toolWith(t, input)
	if coded(found, "entrypoint-several") == nil {
		return errors.New("no warning")
	}
	return same(tool.Get("_meta", "openai/ui", "entrypoints"), "["+input+"]")
}

func displayModes(t *testing.T, input string) error {
	t.Helper()
	item := value(t, `{"uri":"ui://a/b","mimeType":"text/html;profile=mcp-app","text":"","_meta":{"openai/ui":{"availableDisplayModes":`+input+`}}}`)
	_, found := overlay(t, openai.Declarations{}).ResourceContent(item)
	return coded(found, "display-invalid")
}

func appLink(t *testing.T, input string) error {
	t.Helper()
	link, err := links.ParseAppLink(input)
	if err == nil && link.Path != "/parts?tag=bolt&sort=asc" {
		return fmt.Errorf("the page is %s", link.Path)
	}
	return err
}

func toolSegment(t *testing.T, input string) error {
	t.Helper()
	link, err := links.AppLink{PluginID: "p", Tool: input, Path: "/", Platform: links.Web}.Build()
	if err == nil && !strings.Contains(link, "/app/a%2Fb?") {
		return fmt.Errorf("the link is %s", link)
	}
	return err
}

func marketplace(t *testing.T, input string) error {
	t.Helper()
	_, err := links.AppLink{PluginID: "p", Marketplace: input, Tool: "t", Path: "/", Platform: links.Web}.Build()
	return err
}

func linkTarget(t *testing.T, input string) error {
	t.Helper()
	return links.AppLink{Tool: input}.CheckTarget([]links.Target{{Name: "cad.library", Global: true}, {Name: "cad.tray"}})
}

func mentionQuery(t *testing.T, input string) error {
	t.Helper()
	return overlay(t, openai.Declarations{}).MentionsQuery(value(t, input), value(t, `{"type":"object","properties":{"query":{"type":"string"}}}`))
}

func mentionItems(t *testing.T, input string) error {
	t.Helper()
	return overlay(t, openai.Declarations{}).MentionItems(value(t, input))
}

// mentionsAdvertised accepts a search tool that is advertised beside settings.
func mentionsAdvertised(t *testing.T, input string) error {
	t.Helper()
	return mentionsWith(t, openai.Declarations{
		Settings: &openai.Settings{ReadTool: "settings.read", UpdateTool: "settings.update"},
		Mentions: &openai.Mentions{SearchTool: "search_mentions"},
	}, input, `{}`)
}

// ownMentionsAdvertised accepts a search tool that the server may go on
// advertising: one that the operator names is made visible to the app.
func ownMentionsAdvertised(t *testing.T, input string) error {
	t.Helper()
	return mentionsWith(t, openai.Declarations{}, input, `{"extensions":{"openai/mentions":{"searchTool":"search_mentions"},"openai/settings":`+pairOfTools+`}}`)
}

func mentionsWith(t *testing.T, d openai.Declarations, tool, before string) error {
	t.Helper()
	tools := catalog{"settings.read": typescriptRead, "settings.update": typescriptUpdate, "search_mentions": tool}
	got, found := overlay(t, d).Capabilities(true, value(t, before), tools)
	if !got.Get("extensions", "openai/settings").Exists() {
		return errors.New("settings are gone")
	}
	if !got.Get("extensions", "openai/mentions").Exists() {
		return fmt.Errorf("withheld: %v", found)
	}
	return nil
}

// markerGone accepts a tool whose marker goes with the withheld capability.
func markerGone(t *testing.T, input string) error {
	t.Helper()
	page := overlay(t, openai.Declarations{}).Page(openai.PageOptions{Mentions: openai.MentionsWithheld})
	tool, _ := page.Tool(value(t, input))
	if tool.Get("_meta", "openai/extensions").Exists() {
		return fmt.Errorf("the marker stayed: %s", tool)
	}
	return nil
}

var checksForms = openai.Declarations{Forms: "check"}

// legacyForm judges a form for a client that shows none.
func legacyForm(t *testing.T, input string) error {
	t.Helper()
	request := value(t, `{"jsonrpc":"2.0","id":1,"method":"openai/elicitation/create","params":`+input+`}`)
	_, _, err := overlay(t, checksForms).ServerRequest(request, openai.FormContext{})
	return err
}

func formAnswer(field string) judge {
	return func(t *testing.T, input string) error {
		t.Helper()
		form, err := overlay(t, checksForms).Form(value(t, `{"type":"object","properties":{"part":{"type":"string",`+field+`}},"required":["part"]}`))
		if err != nil {
			t.Fatal(err)
		}
		return form.Answer(value(t, input))
	}
}

func modernRound(client string) judge {
	return func(t *testing.T, input string) error {
		t.Helper()
		got, _, err := overlay(t, checksForms).InputRequired(value(t, input), openai.FormContext{Modern: true, Client: value(t, client)})
		if err != nil {
			return err
		}
		return same(got, input)
	}
}

func formSchemaOf(t *testing.T, input string) error {
	t.Helper()
	_, err := overlay(t, checksForms).Form(value(t, `{"type":"object","properties":{"__proto__":`+input+`}}`))
	return err
}

func resourcePath(mode string) judge {
	return func(t *testing.T, input string) error {
		t.Helper()
		got, err := overlay(t, openai.Declarations{Requests: openai.Requests{ResourcePath: mode}}).RequestParams(value(t, input))
		if err != nil {
			return err
		}
		return same(got, input)
	}
}
