package page

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

const uri = "ui://workspace/home"

// injector has one rule, for every page of the workspace.
func injector(t testing.TB, p Page) *Injector {
	t.Helper()
	if p.URI == "" {
		p.URI = "ui://workspace/*"
	}
	in, err := Compile(Config{Pages: []Page{p}})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func item(t testing.TB, src string) rawjson.Value {
	t.Helper()
	v, err := rawjson.ParseLenient([]byte(src), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// page is a content item with a text.
func pageItem(t testing.TB, text string) rawjson.Value {
	t.Helper()
	return item(t, `{"uri":"`+uri+`","mimeType":"text/html;profile=mcp-app","text":`+string(rawjson.Quote(text))+`}`)
}

// TestEveryOtherByteStays: the item is what it was with the script inserted,
// down to how its characters are escaped.
func TestEveryOtherByteStays(t *testing.T) {
	t.Parallel()
	in := injector(t, Page{Navigate: "open"})
	quoted := rawjson.Quote(in.rules[0].script)
	inserted := string(quoted[1 : len(quoted)-1])
	for name, src := range map[string]string{
		"plain":            `{ "uri" : "ui://workspace/home" ,"text":"<head>^<p>" , "mimeType":"text/html;profile=mcp-app","_meta":{"a":1.0} }`,
		"escaped markup":   `{"uri":"ui:\/\/workspace/home","mimeType":"text/html; profile=mcp-app","text":"\u003chead\u003e^\u003cp>\/"}`,
		"escapes before":   `{"uri":"ui://workspace/home","mimeType":"text/html;profile=\"mcp-app\"","text":"\t\n<!-- \"\\ \u00e9 é \ud83d\ude00 😀 \uD83D --><head>\n<meta charset='utf-8'>^\u0041"}`,
		"bytes not UTF-8":  "{\"uri\":\"ui://workspace/home\",\"mimeType\":\"TEXT/HTML;profile=mcp-app;charset=utf-8\",\"text\":\"<!-- \xff\\u00e9\xc3 --><head>^\xff\"}",
		"repeated symbols": `{"text":"<!--\\u003chead\\u003e--><html \t>^x","uri":"ui://workspace/home","mimeType":"text/html;profile=mcp-app"}`,
	} {
		got, found := in.Content(item(t, strings.Replace(src, "^", "", 1)))
		if want := strings.Replace(src, "^", inserted, 1); string(got) != want || found != nil {
			t.Errorf("%s: got %.300s, %v", name, got, found)
		}
	}
}

func TestBlobKeepsItsBytes(t *testing.T) {
	t.Parallel()
	in := injector(t, Page{})
	doc := "<!doctype html>\r\n<head>^<title>\xe9\xff</title>"
	blob := base64.StdEncoding.EncodeToString([]byte(strings.Replace(doc, "^", "", 1)))
	got, found := in.Content(item(t, `{"uri":"`+uri+`","blob":"`+blob+`","mimeType":"text/html;profile=mcp-app"}`))
	encoded, _ := got.Get("blob").Text()
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if want := strings.Replace(doc, "^", in.rules[0].script, 1); err != nil || string(decoded) != want || found != nil {
		t.Errorf("got %.200q, %v, %v", decoded, err, found)
	}
}

func TestInjectingTwiceIsInjectingOnce(t *testing.T) {
	t.Parallel()
	in := injector(t, Page{Navigate: "open"})
	once, _ := in.Content(pageItem(t, "<!doctype html><head><title>t</title>"))
	if twice, found := in.Content(once); string(twice) != string(once) || found != nil {
		t.Errorf("the second time gave %.200s, %v", twice, found)
	}
	other := injector(t, Page{Navigate: "other"})
	if twice, _ := other.Content(once); string(twice) != string(once) {
		t.Error("another gateway injected again")
	}
}

// TestOtherContentPasses in the same bytes and without a word.
func TestOtherContentPasses(t *testing.T) {
	t.Parallel()
	in := injector(t, Page{})
	for _, src := range []string{
		`{"uri":"ui://workspace/home","mimeType":"text/html","text":"<head>"}`,
		`{"uri":"ui://workspace/home","mimeType":"text/html+skybridge","text":"<head>"}`,
		`{"uri":"ui://workspace/home","mimeType":"text/html;profile=mcp-apps","text":"<head>"}`,
		`{"uri":"ui://workspace/home","mimeType":"application/json;profile=mcp-app","text":"<head>"}`,
		`{"uri":"ui://workspace/home","mimeType":["text/html;profile=mcp-app"],"text":"<head>"}`,
		`{"uri":"ui://workspace/home","text":"<head>"}`,
		`{"uri":"ui://other/home","mimeType":"text/html;profile=mcp-app","text":"<head>"}`,
		`{"uri":"UI://workspace/home","mimeType":"text/html;profile=mcp-app","text":"<head>"}`,
		`{"uri":"xui://workspace/home","mimeType":"text/html;profile=mcp-app","text":"<head>"}`,
		`{"uri":7,"mimeType":"text/html;profile=mcp-app","text":"<head>"}`,
		`{"mimeType":"text/html;profile=mcp-app","text":"<head>"}`,
		`{"uri":"ui://workspace/home","mimeType":"text/html;profile=mcp-app","text":"<head><meta name=mcp-app-page content=off>"}`,
		`{}`, `[]`, `"<head>"`, `null`,
	} {
		v := item(t, src)
		if got, found := in.Content(v); string(got) != src || found != nil {
			t.Errorf("%s became %.200s, %v", src, got, found)
		}
		if got, _ := (*Injector)(nil).Content(v); string(got) != src {
			t.Errorf("no injector made %.200s of %s", got, src)
		}
	}
	if got, _ := injector(t, Page{URI: "ui://workspace/h.me"}).Content(pageItem(t, "<head>")); strings.Contains(string(got), "script") {
		t.Error("a dot in an address matched another character")
	}
}

// TestWhatCannotBeInjectedIsNamed and left as it is.
func TestWhatCannotBeInjectedIsNamed(t *testing.T) {
	t.Parallel()
	in := injector(t, Page{})
	utf16 := base64.StdEncoding.EncodeToString([]byte("\xff\xfe<\x00"))
	for member, want := range map[string]string{
		`"text":"<head>","blob":"PGhlYWQ+"`: "exactly one",
		`"text":7`:                          "exactly one",
		`"a":1`:                             "exactly one",
		`"blob":"<head>"`:                   "base64",
		`"blob":"` + utf16 + `"`:            "UTF-16",
		`"text":""`:                         "first element",
		`"text":"<p>` + strings.Repeat("x", maxPage) + `"`: "larger",
	} {
		src := `{"uri":"` + uri + `","mimeType":"text/html;profile=mcp-app",` + member + `}`
		got, found := in.Content(item(t, src))
		if string(got) != src || len(found) != 1 || found[0].Subject != uri || !strings.Contains(found[0].Detail, want) {
			t.Errorf("%.80s became %.80s with %v, want a finding with %q", src, got, found, want)
		}
	}
}

// TestOptionsCannotBreakOut: whatever the operator writes arrives at the client
// as that, in one script.
func TestOptionsCannotBreakOut(t *testing.T) {
	t.Parallel()
	notice := `"></script><script>alert(1)</script> ' & &quot; &lt; <!-- ]]> ` + "` \u2028\u2029 é \u202e"
	got, found := injector(t, Page{Notice: notice, Navigate: "a.b"}).Content(pageItem(t, "<!doctype html><p>x"))
	text, _ := got.Get("text").Text()
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil || found != nil {
		t.Fatal(err, found)
	}
	var scripts []*html.Node
	for n := range tree.Descendants() {
		if n.Type == html.ElementNode && n.Data == "script" {
			scripts = append(scripts, n)
		}
	}
	if len(scripts) != 1 || len(scripts[0].Attr) != 1 || scripts[0].FirstChild.Data != code {
		t.Fatalf("the page has %d scripts: %.300s", len(scripts), text)
	}
	var options map[string]any
	if err := json.Unmarshal([]byte(scripts[0].Attr[0].Val), &options); err != nil {
		t.Fatal(err)
	}
	if options["notice"] != notice || options["navigate"] != "a.b" || len(options) != 2 {
		t.Errorf("the client reads %q", options)
	}
}

func TestMostSpecificAddressDecides(t *testing.T) {
	t.Parallel()
	in, err := Compile(Config{Pages: []Page{
		{URI: "ui://*", Navigate: "all"}, {URI: "ui://workspace/*", Navigate: "workspace"}, {URI: uri, Navigate: "home"}, {URI: "ui://work*/h*", Navigate: "h"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{uri: "home", "ui://workspace/tray": "workspace", "ui://other": "all", "ui://work/h": "h"} {
		got, _ := in.Content(item(t, `{"uri":"`+address+`","mimeType":"text/html;profile=mcp-app","text":"<p>"}`))
		if !strings.Contains(string(got), `{&quot;navigate&quot;:&quot;`+want+`&quot;}`) {
			t.Errorf("%s does not get the rule with %s", address, want)
		}
	}
	without := pageItem(t, "<head>")
	if in, err = Compile(Config{Pages: []Page{{URI: "ui://*"}, {URI: uri, Off: true}}}); err != nil {
		t.Fatal(err)
	}
	if got, found := in.Content(without); string(got) != string(without) || found != nil || in.Review(got) != nil {
		t.Errorf("the client was not kept out: %.200s, %v", got, found)
	}
}
