package caddymodule

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
)

//go:embed opener_page.html
var openerPageSource string

var openerTemplate = template.Must(template.New("opener").Parse(openerPageSource))

// openerPolicy lets the page show itself and nothing else: its one style sheet
// is named by its hash, and it has no script.
var openerPolicy = "default-src 'none'; style-src 'sha256-" + openerStyleHash() + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const askForAnother = "Ask whoever gave you the link for another one."

// openerPage is what the page says. The texts are of our own and hold nothing of
// the request but a few characters that were found at fault, escaped.
type openerPage struct {
	About   string // what the heading leaves out
	Heading string
	Text    []string
	Ways    []openerWay
}

// openerWay is one link on the page.
type openerWay struct {
	Name, Hint string
	URL        template.URL // one of our own making; see links.Opener
}

// choicePage offers every link there is. A tool without a title has a name that
// says little to people; the plugin's says more.
func (o *opener) choicePage(tool string, choices []links.Choice, fallback links.Fallback) openerPage {
	page := openerPage{About: tool, Heading: "Open " + o.plugin, Text: []string{"Where would you like to open it?"}}
	if title := o.titles[tool]; title != "" {
		page.About, page.Heading = o.plugin, "Open "+title
	}
	for _, choice := range choices {
		way := openerWay{URL: template.URL(choice.URL)} //nolint:gosec // built and checked by package links, never the request's own
		switch choice.Platform {
		case links.Desktop:
			way.Name, way.Hint = "ChatGPT on this computer", "The app for Windows and macOS"
		case links.Mobile:
			way.Name, way.Hint = "ChatGPT on this phone or tablet", "The app for iPhone and iPad"
		case links.Web:
			way.Name, way.Hint = "ChatGPT in the browser", "chatgpt.com"
		case links.App:
			way.Name, way.Hint = "Without ChatGPT", hostOf(fallback)
		}
		page.Ways = append(page.Ways, way)
	}
	return page
}

// faultPage says which part of a request is wrong. The sentence of a
// [links.Error] shows what was found by its code or as one quoted character.
func (o *opener) faultPage(err error, fallback links.Fallback) openerPage {
	text := "It is not written as such links are."
	if fault, ok := errors.AsType[*links.Error](err); ok {
		part := fault.Part
		switch part {
		case "link":
			part = "address"
		case "url":
			part = "path"
		}
		text = fmt.Sprintf("Its %s %s, at byte %d after %s.", part, fault.Reason, fault.Offset, o.prefix)
	}
	return startPage(openerPage{Heading: "This link is faulty", Text: []string{text, askForAnother}}, fallback)
}

// missingPage says what there is not.
func missingPage(text string, fallback links.Fallback) openerPage {
	return startPage(openerPage{Heading: "This link leads nowhere", Text: []string{text, askForAnother}}, fallback)
}

// startPage adds the way to the ordinary application, which is no dead end.
func startPage(page openerPage, fallback links.Fallback) openerPage {
	if start, err := fallback.Join("/"); err == nil {
		page.Ways = []openerWay{{Name: "Start page of the application", Hint: hostOf(fallback), URL: template.URL(start)}} //nolint:gosec // the operator's own address
	}
	return page
}

func hostOf(fallback links.Fallback) string {
	u, err := url.Parse(fallback.String())
	if err != nil {
		return ""
	}
	return u.Host
}

// writeOpenerPage sends the page, also beside a redirect: a client that cannot
// follow it to another scheme still shows the links.
func writeOpenerPage(w http.ResponseWriter, status int, page openerPage) {
	var body bytes.Buffer
	if err := openerTemplate.Execute(&body, page); err != nil {
		// The template is fixed, and so are its types.
		status, body = http.StatusInternalServerError, bytes.Buffer{}
	}
	h := w.Header()
	h.Set("Content-Security-Policy", openerPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Content-Language", "en")
	h.Add("Vary", "Sec-CH-UA-Platform, User-Agent")
	writeBody(w, status, "text/html; charset=utf-8", body.Bytes())
}

// openerStyleHash is taken from what the template makes of the style sheet,
// which leaves comments out.
func openerStyleHash() string {
	var page bytes.Buffer
	if err := openerTemplate.Execute(&page, openerPage{}); err != nil {
		panic(err)
	}
	_, rest, _ := bytes.Cut(page.Bytes(), []byte("<style>"))
	style, _, _ := bytes.Cut(rest, []byte("</style>"))
	sum := sha256.Sum256(style)
	return base64.StdEncoding.EncodeToString(sum[:])
}
