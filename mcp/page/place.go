package page

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/net/html"
)

var (
	// errCarries marks a page that has a client already, or wants none.
	errCarries = errors.New("it carries the client already, or opts out")

	errUnfinished = errors.New("it ends before its first element")
	errOdd        = errors.New("it begins with a null or an escaped space, behind which no script can stand without changing it")
)

const (
	space = " \t\r\n\f" // as HTML has it
	bom   = "\ufeff"
)

// place returns the offset at which a script changes nothing but being there: the
// start of the head. That is behind the head's own tag, or, where the page leaves
// that out, in front of the first thing that would open the head by itself. Only
// a doctype, comments, space, the html tag and stray end tags can stand before it.
//
// A declaration of the charset that comes first stays first: readers of bytes
// look for it within the first 1,024 of them.
func place(doc []byte) (int, error) {
	if carries(doc) {
		return 0, errCarries
	}
	at := 0
	if bytes.HasPrefix(doc, []byte(bom)) {
		at = len(bom)
	}
	for z := html.NewTokenizer(bytes.NewReader(doc[at:])); ; {
		kind := z.Next()
		raw := doc[at : at+len(z.Raw())]
		switch kind {
		case html.ErrorToken:
			return 0, errUnfinished
		case html.DoctypeToken, html.CommentToken:
			if !closed(raw) {
				return 0, errUnfinished
			}
		case html.TextToken:
			shown := bytes.TrimLeft(raw, space)
			switch {
			case len(shown) == 0:
			case shown[0] == 0, shown[0] == '&' && strings.IndexAny(html.UnescapeString(string(shown)), space) == 0:
				return 0, errOdd
			default:
				return at + len(raw) - len(shown), nil
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "html":
			case "head":
				return at + len(raw) + charset(doc[at+len(raw):]), nil
			default:
				return at, nil
			}
		case html.EndTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "head", "body", "html", "br":
				return at, nil
			default: // means nothing here
			}
		}
		at += len(raw)
	}
}

// closed reports whether a doctype or comment ends by its own end and not by that
// of the page: whatever follows would become part of it.
func closed(raw []byte) bool {
	if bytes.HasPrefix(raw, []byte("<!--")) {
		return bytes.HasSuffix(raw, []byte("-->")) || bytes.HasSuffix(raw, []byte("--!>"))
	}
	return bytes.HasSuffix(raw, []byte(">"))
}

// charset returns the length of the charset declaration that the inside of a head
// begins with, or 0.
func charset(doc []byte) int {
	z := html.NewTokenizer(bytes.NewReader(doc))
	length := 0
	kind := z.Next()
	if kind == html.TextToken && len(bytes.Trim(z.Raw(), space)) == 0 {
		length = len(z.Raw())
		kind = z.Next()
	}
	if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
		return 0
	}
	length += len(z.Raw())
	if t := z.Token(); t.Data != "meta" || len(t.Attr) != 1 || t.Attr[0].Key != "charset" {
		return 0
	}
	return length
}

// carries reports whether a page has the client in a script of its own, injected
// or not, or has opted out.
func carries(doc []byte) bool {
	if !bytes.Contains(doc, []byte(marker)) {
		return false // the usual case, for which nothing is taken apart
	}
	inScript := false
	for z := html.NewTokenizer(bytes.NewReader(doc)); ; {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return false
		case html.TextToken:
			if inScript && bytes.Contains(z.Raw(), []byte(marker)) {
				return true
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			inScript = t.Data == "script" && kind == html.StartTagToken
			if inScript && hasAttribute(t, mark) ||
				t.Data == "meta" && attribute(t, "name") == marker && attribute(t, "content") == "off" {
				return true
			}
		default:
			inScript = false
		}
	}
}

func hasAttribute(t html.Token, name string) bool {
	for _, a := range t.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// attribute returns the value that counts, which is that of the first of a name.
func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return strings.TrimSpace(a.Val)
		}
	}
	return ""
}
