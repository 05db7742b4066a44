package page

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	pageclient "github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
)

// TestSameVerdictsInTheBrowser runs the cases of package links in the client,
// and many more that are put together at random, always the same ones.
func TestSameVerdictsInTheBrowser(t *testing.T) {
	h := newHost(t)
	random := rand.New(rand.NewPCG(1, 2))
	h.serveJSON("/verdicts", verdicts(t, random))
	h.serveJSON("/contexts", contexts(t))
	h.serveJSON("/documents", documents(t, random))
	h.mux.HandleFunc("GET /client.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, pageclient.Module())
	})
	h.run(t, "verdicts")
}

func (h *host) serveJSON(path string, v any) {
	h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	})
}

type verdict struct {
	URL any  `json:"url"`
	OK  bool `json:"ok"`
}

// pieces are what URLs are put together from: all that any rule is about.
var pieces = []string{
	"/", "/", "/a", "//", ".", "..", "%2e", "%2E", "%2f", "%2F", "%5c", `\`, "?", "?", "#", "%23", "%3f", ";", "%3B", "a", "é", "%C3%A9", "%c3", "%A9",
	"%00", "%0a", "%7f", "\x7f", "\t", "%C2%85", "\u0085", "\u2028", "%E2%80%A8", "\u202e", "%E2%80%AE", "\u061c", "\u200e", "\u200b", "%25", "%252e",
	"%u002e", "%U002E", "%", "%2", "%zz", " ", "%20", "\u00a0", "%C2%A0", "\ufeff", "%EF%BB%BF", "\u3000", "\u1680", "\u180e", "&", "=", "+", "@", ":",
	"😀", "%F0%9F%98%80", "%ED%A0%80", "%C0%AE", "%F4%90%80%80", "\ufffd", "\ufffe", "a..b", "...", "<", "\"", "{", "|", "~",
}

func verdicts(t *testing.T, random *rand.Rand) []verdict {
	var all []verdict
	for _, c := range linkCases(t, "deeplink.url") {
		url, ok := c.Input.(string)
		if ok {
			_, err := links.ParseAppURL(url)
			ok = err == nil
		}
		if ok != (c.Expect == "accept") {
			t.Errorf("%s: package links says %t", c.Name, ok)
		}
		all = append(all, verdict{c.Input, ok})
	}
	for range 20000 {
		var url strings.Builder
		if random.IntN(10) > 0 {
			url.WriteByte('/')
		}
		for range random.IntN(7) {
			url.WriteString(pieces[random.IntN(len(pieces))])
		}
		_, err := links.ParseAppURL(url.String())
		all = append(all, verdict{url.String(), err == nil})
	}
	for _, s := range []string{strings.Repeat("x", 2047), strings.Repeat("x", 2048), strings.Repeat("é", 1023), strings.Repeat("é", 1024)} {
		_, err := links.ParseAppURL("/" + s)
		all = append(all, verdict{"/" + s, err == nil})
	}
	return all
}

// hostContext is a host context and what the page hears of it.
type hostContext struct {
	Name    string `json:"name"`
	Context any    `json:"context"`
	Outcome string `json:"outcome"`
}

func contexts(t *testing.T) []hostContext {
	var all []hostContext
	for _, c := range linkCases(t, "deeplink.context") {
		raw, err := json.Marshal(c.Input)
		if err != nil {
			t.Fatal(err)
		}
		outcome := "arrival"
		switch _, found, err := links.HostContextURL(raw); {
		case err != nil:
			outcome = "refusal"
		case !found:
			outcome = ""
		}
		all = append(all, hostContext{c.Name, c.Input, outcome})
	}
	return all
}

type linkCase struct {
	Feature, Name, Expect string
	Input                 any
}

// linkCases reads the cases that package links tests itself with.
func linkCases(t *testing.T, feature string) []linkCase {
	var all, chosen []linkCase
	if err := json.Unmarshal([]byte(file("../../links/testdata/cases.json")), &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Feature == feature {
			c.Input = expand(c.Input)
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		t.Fatalf("no cases of %s", feature)
	}
	return chosen
}

// expand replaces the generators {"$repeat":s,"count":n} and {"$concat":[…]}.
func expand(v any) any {
	m, _ := v.(map[string]any)
	if s, ok := m["$repeat"].(string); ok {
		return strings.Repeat(s, int(m["count"].(float64)))
	}
	if parts, ok := m["$concat"].([]any); ok {
		var b strings.Builder
		for _, part := range parts {
			b.WriteString(expand(part).(string))
		}
		return b.String()
	}
	return v
}

// tags are what documents are put together from.
var tags = []string{
	"<!doctype html>", "<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 4.01//EN\">", "<html lang=en>", "<HTML class=x>", "</html>", "<head>", "<head id=h>", "</head>", "<body>", "<body class=x>", "</body>",
	"<!-- c -->", "<!--><head>-->", "<!-- <head> --!>", "<!-->", "<!--", "<?xml version='1.0'?>", "<title>t</title>", "<title><head></title>", "\n", " \t\r\n", "text", "<meta charset=utf-8>",
	"<meta charset='utf-8' name=a>", "<base href='/x'>", "<link rel=a>", "<style>a{}</style>", "<script>'<head>'</script>", "<noscript><p></noscript>", "<template><head></template>",
	"<p>", "</p>", "</br>", "<svg><head/></svg>", "<math>", "<frameset>", "<frame>", "<table><tr>", "<select>", "<textarea>", "&amp;", "&#32;", "\ufeff", "\x00", "<", "</", "<!", "<head ", "<plaintext>", "<header>",
}

type injectedDocument struct {
	Doc string `json:"doc"`
	At  int    `json:"at"` // in UTF-16 units, as the browser counts
}

func documents(t *testing.T, random *rand.Rand) any {
	p := pageclient.Page{URI: "ui://*", Navigate: "open"}
	script, err := inject(p, "<p>")
	if err != nil {
		t.Fatal(err)
	}
	script = strings.TrimSuffix(script, "<p>")
	var docs []injectedDocument
	for range 3000 {
		var b strings.Builder
		for range 1 + random.IntN(8) {
			b.WriteString(tags[random.IntN(len(tags))])
		}
		injected, err := inject(p, b.String())
		if err != nil {
			continue // a document of which nothing is left to put a script before
		}
		before, _, _ := strings.Cut(injected, script)
		docs = append(docs, injectedDocument{b.String(), len(utf16.Encode([]rune(before)))})
	}
	return map[string]any{"script": script, "docs": docs}
}
