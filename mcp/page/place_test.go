package page

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestScriptStandsFirst: the script comes before everything of the page's own,
// and ^ shows where.
func TestScriptStandsFirst(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"head":                          "<!doctype html><html><head>^<title>t</title></head>",
		"head with attributes":          `<html><head class="a>b" data-x='<head>'>^<title>`,
		"capitals":                      "<!DOCTYPE HTML>\n<HTML>\n<HEAD>^\n<TITLE>",
		"charset stays first":           "<head>\n  <meta charset=\"utf-8\">^\n  <title>",
		"charset that is not first":     `<head>^<title>t</title><meta charset="utf-8">`,
		"other meta":                    `<head>^<meta http-equiv="Content-Security-Policy" content="default-src 'none'">`,
		"meta with more than a charset": `<head>^<meta charset="utf-8" http-equiv="refresh" content="0">`,
		"no head":                       "<!doctype html>\n<html lang=en>\n^<title>t</title>",
		"no html":                       "<!-- one --><!doctype html>\n<!-- <head> -->\n^<p>text",
		"body only":                     "<!doctype html>^<body><head>",
		"head too late":                 "<!doctype html>^<title>t</title><head><meta charset=utf-8>",
		"head in a comment":             "<!-- <head> --><html><!-- --><head>^",
		"head in a script":              "^<script>'<head>'</script><head>",
		"head in a title":               "<!doctype html>^<title><head></title>",
		"head in an attribute":          `^<p title="<head>">`,
		"header is no head":             "<!doctype html>^<header>x</header>",
		"text":                          "  \n^Hello <head>",
		"entity":                        "<!doctype html>^&lt;b&gt;",
		"frames":                        "<html>^<frameset></frameset>",
		"end tag first":                 "<!doctype html>^</head><p>",
		"stray end tag":                 "</p><html></div><!-- --><head>^",
		"byte order mark":               "\ufeff<!doctype html><head>^",
		"XML declaration":               "<?xml version='1.0'?><!doctype html><html><head>^",
		"comment closed oddly":          "<!-- a --!><head>^",
		"shortest comments":             "<!--><!---><head>^",
		"carriage returns":              "\r\n<html>\r\n<head>\r\n<meta charset=utf-8>^\r\n",
		"no markup":                     "^just words",
	} {
		want := strings.Index(doc, "^")
		if got, err := place([]byte(strings.Replace(doc, "^", "", 1))); err != nil || got != want {
			t.Errorf("%s: place = %d, %v, want %d", name, got, err, want)
		}
	}
}

func TestNoPlaceInUnfinishedPages(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]error{
		"":                        errUnfinished,
		" \n":                     errUnfinished,
		"<!doctype html>":         errUnfinished,
		"<!doctype html":          errUnfinished,
		"<html>":                  errUnfinished,
		"<hea":                    errUnfinished,
		"<!-- <head>":             errUnfinished,
		"<!-- <head> --":          errUnfinished,
		"<!doctype html><!-- a>":  errUnfinished,
		"<html>\x00<head>":        errOdd, // browsers differ in whether it opens the body
		"<html>&#32;text":         errOdd,
		"<html>\n&Tab;&NewLine;x": errOdd,
	} {
		if at, err := place([]byte(doc)); !errors.Is(err, want) {
			t.Errorf("place(%q) = %d, %v, want %v", doc, at, err, want)
		}
	}
}

func TestPagesThatCarryTheClient(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]bool{
		"<head>" + script("{}"):                                          true,
		"<head><script type=module>" + module + "</script>":              true,
		"<head><title>t</title><meta name=mcp-app-page content=off>":     true,
		"<head><meta content=' off ' name='mcp-app-page'><p>":            true,
		"<head><meta name=mcp-app-page content=on>":                      false,
		"<head><meta name=mcp-app-page content=on content=off>":          false,
		"<p>mcp-app-page</p>":                                            false,
		"<!-- <script data-mcp-app-page> mcp-app-page --><p>":            false,
		"<title><script data-mcp-app-page></script></title><p>":          false,
		"<p data-mcp-app-page=x>":                                        false,
		"<script></script>mcp-app-page":                                  false,
		"<head><script>addEventListener('mcp-app:navigate', f)</script>": false,
	} {
		if got := carries([]byte(doc)); got != want {
			t.Errorf("carries(%.80q) = %t, want %t", doc, got, want)
		}
	}
}

// FuzzPlace proves that a page with the script in it is to a browser the same
// page and one script, whatever the page is made of.
func FuzzPlace(f *testing.F) {
	for _, seed := range []string{
		"<!doctype html><html lang=en><head><meta charset=utf-8><title>t</title></head><body class=x>a</body></html>",
		"\ufeff<!-- --><html><!-- c --><title>x</title><head><body>", "<template><head></template>", "</p></head><p>",
		"<html><html a=b><frameset><frame></frameset>", "<svg><head/></svg>", "a&#32;<head>", "\x00<head>", "<!--><head>", "<head></head> <!-- --> x",
		"<noscript><p></noscript>", "<math><title><head>", "<plaintext><head>", "<select><script>x", "<html><head/ ><meta charset>",
	} {
		f.Add(seed)
	}
	element := script(Page{Navigate: "open", Notice: `"'<!--</script>&`}.options())
	f.Fuzz(func(t *testing.T, doc string) {
		at, err := place([]byte(doc))
		if err != nil {
			return
		}
		before, err := html.Parse(strings.NewReader(doc))
		if err != nil {
			return
		}
		injected := doc[:at] + element + doc[at:]
		after, err := html.Parse(strings.NewReader(injected))
		if err != nil {
			t.Fatalf("the page no longer parses: %v", err)
		}
		if n := takeScripts(after); n != 1 {
			t.Fatalf("%d scripts in %q", n, injected)
		}
		if got, want := dump(after), dump(before); got != want {
			t.Fatalf("%q at %d changes the page from\n%s\nto\n%s", doc, at, want, got)
		}
		if at, err := place([]byte(injected)); !errors.Is(err, errCarries) {
			t.Fatalf("a second script goes to %d, %v", at, err)
		}
	})
}

// takeScripts removes the injected scripts and counts them.
func takeScripts(n *html.Node) int {
	count := 0
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if child.Data == "script" && hasAttribute(html.Token{Attr: child.Attr}, mark) && child.FirstChild != nil && child.FirstChild.Data == code {
			n.RemoveChild(child)
			count++
		} else {
			count += takeScripts(child)
		}
		child = next
	}
	return count
}

// dump writes a tree so that two of them can be compared. Texts that only the
// script kept apart are one.
func dump(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node, string)
	walk = func(n *html.Node, indent string) {
		if n.Type == html.TextNode {
			if n.PrevSibling == nil || n.PrevSibling.Type != html.TextNode {
				b.WriteString("\n" + indent + "text ")
			}
			b.WriteString(n.Data)
		} else {
			b.WriteString("\n" + indent + n.Namespace + ":" + n.Data)
			for _, a := range n.Attr {
				b.WriteString(" " + a.Namespace + ":" + a.Key + "=" + a.Val)
			}
		}
		for child := range n.ChildNodes() {
			walk(child, indent+"  ")
		}
	}
	walk(n, "")
	return b.String()
}
