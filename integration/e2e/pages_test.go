package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

const (
	appType = "text/html;profile=mcp-app"
	appPage = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Café</title></head><body>\u2028 & <b>x</b></body></html>\n"
	ownCSP  = `<!doctype html><head><meta http-equiv="Content-Security-Policy" content="script-src 'self'"><title>t</title></head>`
)

// pageServer has pages of every kind and answers as JSON or as streams.
func pageServer(asJSON bool) http.Handler {
	contents := map[string]mcp.ResourceContents{
		"ui://app/text":   {MIMEType: appType, Text: appPage, Meta: mcp.Meta{"ui": map[string]any{"prefersBorder": true}}},
		"ui://app/blob":   {MIMEType: appType, Blob: []byte(appPage)},
		"ui://app/older":  {MIMEType: "text/html+skybridge", Text: appPage},
		"ui://app/secret": {MIMEType: appType, Text: appPage},
		"ui://app/off":    {MIMEType: appType, Text: appPage},
		"ui://app/optout": {MIMEType: appType, Text: `<head><meta name="mcp-app-page" content="off">`},
		"ui://app/plain":  {MIMEType: "text/html", Text: appPage},
		"ui://app/data":   {MIMEType: "application/json", Text: `{"html":"<head>"}`},
		"ui://app/csp":    {MIMEType: appType, Text: ownCSP},
		"ui://app/large":  {MIMEType: appType, Text: appPage + strings.Repeat("x", 8<<20)},
		"ui://other/text": {MIMEType: appType, Text: appPage},
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "pages", Version: "1"}, nil)
	for uri, c := range contents {
		c.URI = uri
		server.AddResource(&mcp.Resource{URI: uri, Name: uri, MIMEType: c.MIMEType}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
		})
	}
	stateful := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{JSONResponse: asJSON})
	stateless := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{JSONResponse: asJSON, Stateless: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"of the server's bytes"`)
		if r.Header.Get("Mcp-Protocol-Version") >= modern {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
}

// pageRules bring the client into the pages of ui://app/.
const pageRules = `policy {
	resource ui://app/*
	resource ui://other/*
	resource ui://app/secret {
		deny
	}
}
openai {
	repair mime
	display ui://app/* inline fullscreen
	csp ui://app/* {
		connect https://api.example.com
	}
	page ui://app/* {
		navigate app.navigate hash
	}
	page ui://app/off {
		client off
	}
}
links {
	navigate app.navigate
}
`

// inEveryFraming runs a test in both eras before servers of both framings.
func inEveryFraming(t *testing.T, test func(t *testing.T, direct, through *caller, g *gateway)) {
	t.Helper()
	for framing, asJSON := range map[string]bool{"streams": false, "JSON": true} {
		t.Run(framing, func(t *testing.T) {
			g := startBefore(t, pageServer(asJSON), endpoint(pageRules))
			for _, era := range eras {
				t.Run(era, func(t *testing.T) {
					test(t, g.direct(t, era, viewer("acme")), g.caller(t, era, viewer("acme")), g)
				})
			}
		})
	}
}

// script is what an injected page has more than the server's.
func script(t *testing.T) string {
	t.Helper()
	injector, err := page.Compile(page.Config{Pages: []page.Page{{URI: "ui://*", Navigate: "app.navigate", Route: "hash"}}})
	if err != nil {
		t.Fatal(err)
	}
	item, _ := injector.Content(rawjson.Value(`{"uri":"ui://x","mimeType":"` + appType + `","text":"<p>"}`))
	text, _ := item.Get("text").Text()
	return strings.TrimSuffix(text, "<p>")
}

func content(t *testing.T, a *answer) rawjson.Value {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("not read: %s", a)
	}
	return only(t, a.message.Get("result", "contents"))
}

// TestPagesGetTheClient in text and blob, in JSON and streams, in both eras, with
// what else is declared for them; and the answer's headers fit its bytes.
func TestPagesGetTheClient(t *testing.T) {
	inEveryFraming(t, func(t *testing.T, direct, through *caller, _ *gateway) {
		want := strings.Replace(appPage, `<meta charset="utf-8">`, `<meta charset="utf-8">`+script(t), 1)
		for _, uri := range []string{"ui://app/text", "ui://app/blob", "ui://app/older"} {
			before, a := direct.read(t, uri), through.read(t, uri)
			got := content(t, a)
			text, ok := got.Get("text").Text()
			if blob, isBlob := got.Get("blob").Text(); isBlob {
				decoded, err := base64.StdEncoding.DecodeString(blob)
				text, ok = string(decoded), err == nil
			}
			if !ok || text != want {
				t.Errorf("%s holds\n%.300s\nwant\n%.300s", uri, text, want)
			}
			if a.framing != before.framing {
				t.Errorf("%s comes as %s, from the server as %s", uri, a.framing, before.framing)
			}
			if got := a.header.Get("Etag"); got != "" {
				t.Errorf("%s still has the ETag %s of other bytes", uri, got)
			}
			if length := a.header.Get("Content-Length"); length != "" && length != fmt.Sprint(len(a.body)) {
				t.Errorf("%s has %d bytes and says %s", uri, len(a.body), length)
			}
			if got := string(got.Get("_meta", "openai/ui", "availableDisplayModes")); got != `["inline","fullscreen"]` {
				t.Errorf("%s: display modes %s", uri, got)
			}
			if got := string(got.Get("_meta", "ui", "csp", "connectDomains")); got != `["https://api.example.com"]` {
				t.Errorf("%s: connectDomains %s", uri, got)
			}
			if uri == "ui://app/text" {
				if got := string(got.Get("_meta", "ui", "prefersBorder")); got != "true" {
					t.Errorf("the server's own prefersBorder is %q", got)
				}
				// What is not the page's start is still escaped as the server did.
				kept, _ := strings.CutPrefix(string(content(t, before).Get("text")), `"\u003c!doctype html\u003e\n\u003chtml lang=\"en\"\u003e\u003chead\u003e\u003cmeta charset=\"utf-8\"\u003e`)
				if !strings.HasSuffix(string(got.Get("text")), kept) {
					t.Errorf("the rest of the page was written anew: %.300s", got.Get("text"))
				}
			}
		}
	})
}

// TestWhatIsNoPageOfTheirsGetsNoClient: other types, other addresses, and pages
// that are to have none keep their bytes.
func TestWhatIsNoPageOfTheirsGetsNoClient(t *testing.T) {
	inEveryFraming(t, func(t *testing.T, direct, through *caller, _ *gateway) {
		for _, uri := range []string{"ui://app/off", "ui://app/optout", "ui://app/plain", "ui://app/data", "ui://other/text"} {
			want, got := content(t, direct.read(t, uri)), content(t, through.read(t, uri))
			if got := got.Delete("_meta"); string(got) != string(want.Delete("_meta")) {
				t.Errorf("%s became %.300s", uri, got)
			}
		}
	})
}

// TestAHiddenPageGetsNoClient, but the answer for what does not exist.
func TestAHiddenPageGetsNoClient(t *testing.T) {
	inEveryFraming(t, func(t *testing.T, _, through *caller, _ *gateway) {
		hidden := through.read(t, "ui://app/secret")
		sameAsUnknown(t, hidden, through.read(t, "ui://app/nobody"), "ui://app/secret", "ui://app/nobody")
		if strings.Contains(string(hidden.body), "mcp-app-page") {
			t.Errorf("the client was given away: %s", hidden)
		}
	})
}

// TestTheOperatorHearsWhatStopsTheClient, once for each page, with the way out.
func TestTheOperatorHearsWhatStopsTheClient(t *testing.T) {
	g := startBefore(t, pageServer(true), endpoint(pageRules))
	for range 2 {
		for _, era := range eras {
			c := g.caller(t, era, viewer("acme"))
			if got := content(t, c.read(t, "ui://app/csp")); !strings.Contains(string(got), "mcp-app-page") {
				t.Errorf("the page with a policy of its own did not get the client: %s", got)
			}
			large := c.read(t, "ui://app/large")
			if text, _ := content(t, large).Get("text").Text(); len(text) != len(appPage)+8<<20 {
				t.Errorf("the large page has %d bytes now", len(text))
			}
		}
	}
	log := g.log(t)
	for _, want := range []string{page.Hash(), "larger than 8388608 bytes"} {
		if got := strings.Count(log, want); got != 1 {
			t.Errorf("the log says %q %d times, want once", want, got)
		}
	}
}

// TestAPageOverTheLimitIsWithheld: putting the client in is no way around the
// bound for messages.
func TestAPageOverTheLimitIsWithheld(t *testing.T) {
	g := startBefore(t, pageServer(true), endpoint(pageRules+"limits {\n\tmessage 64KiB\n}\n"))
	for _, era := range eras {
		c := g.caller(t, era, viewer("acme"))
		large := c.read(t, "ui://app/large")
		if large.code() == "" || strings.Contains(string(large.body), "mcp-app-page") {
			t.Errorf("%s: the large page is answered with %d %.300s", era, large.status, large.body)
		}
		if text, _ := content(t, c.read(t, "ui://app/text")).Get("text").Text(); !strings.Contains(text, script(t)) {
			t.Errorf("%s: the small page did not get the client", era)
		}
	}
}

// TestAnUnguardedNavigateToolIsNamed when the configuration is loaded.
func TestAnUnguardedNavigateToolIsNamed(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		rules := pageRules
		if !guarded {
			rules, _, _ = strings.Cut(rules, "links {")
		}
		log := startBefore(t, pageServer(true), endpoint(rules)).log(t)
		if got := strings.Contains(log, "write links { navigate app.navigate }"); got == guarded {
			t.Errorf("guarded %t: the log says so: %t", guarded, got)
		}
	}
}
