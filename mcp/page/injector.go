package page

import (
	"errors"
	"fmt"
	"mime"
	"regexp"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Injector puts the client into pages. It is immutable and safe for concurrent
// use; a nil one leaves every page as it is.
type Injector struct{ rules []rule }

// rule is one checked [Page].
type rule struct {
	uri    *regexp.Regexp
	weight int    // how specific the address is
	script string // the whole element; empty where the client is kept out
}

// exact is the weight of an address without a star.
const exact = 1 << 30

// Compile checks the configuration and makes it ready for use. The error names
// every mistake at once, each with what to write instead.
func Compile(c Config) (*Injector, error) {
	in := &Injector{}
	seen := make(map[string]bool)
	var errs []error
	for _, p := range c.Pages {
		err := p.check()
		if seen[p.URI] {
			err = errors.Join(err, errors.New("declared twice: keep one"))
		}
		seen[p.URI] = true
		if err != nil {
			errs = append(errs, fmt.Errorf("page %s: %w", clip(p.URI), err))
			continue
		}
		literal := regexp.QuoteMeta(p.URI)
		r := rule{
			uri:    regexp.MustCompile("^(?s:" + strings.ReplaceAll(literal, `\*`, ".*") + ")$"),
			weight: exact,
		}
		if !p.Off {
			r.script = script(p.options())
		}
		if stars := strings.Count(p.URI, "*"); stars > 0 {
			r.weight = len(p.URI) - stars
		}
		in.rules = append(in.rules, r)
	}
	return in, errors.Join(errs...)
}

// Content puts the client into one contents item of a resources/read result, if
// it is an MCP App page under a configured address. Everything else, and a page
// that brings the client itself or opts out with
//
//	<meta name="mcp-app-page" content="off">
//
// comes back unchanged, in the same bytes. A finding tells why a page that should
// have the client does not get it.
func (in *Injector) Content(item rawjson.Value) (rawjson.Value, []Finding) {
	r, uri, ok := in.ruleFor(item)
	if !ok {
		return item, nil
	}
	d, err := read(item)
	if err == nil {
		var at int
		if at, err = place(d.html); err == nil {
			return d.insert(item, at, r.script), nil
		}
	}
	if errors.Is(err, errCarries) {
		return item, nil
	}
	return item, finding("page-client-missing", uri, "the client was not put into the page: "+err.Error(),
		"correct the page, or take it out of the configuration")
}

// ruleFor returns the most specific rule for an item that is an MCP App page.
func (in *Injector) ruleFor(item rawjson.Value) (best rule, uri string, found bool) {
	if in == nil {
		return best, "", false
	}
	uri, ok := item.Get("uri").Text()
	if !ok || !isPage(item) {
		return best, uri, false
	}
	for _, r := range in.rules {
		if r.uri.MatchString(uri) && (!found || r.weight > best.weight) {
			best, found = r, true
		}
	}
	return best, uri, found && best.script != ""
}

// isPage reports whether an item has the one media type of MCP App pages, which
// may be written with spaces, capitals and a charset.
func isPage(item rawjson.Value) bool {
	text, _ := item.Get("mimeType").Text()
	kind, parameters, err := mime.ParseMediaType(text)
	return err == nil && kind == "text/html" && parameters["profile"] == "mcp-app"
}
