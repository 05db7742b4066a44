package page

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Review tells what keeps the client from working in a page, for an item as the
// server sent it or as it left the gateway. It looks at the whole page, which
// [Injector.Content] has no time for.
func (in *Injector) Review(item rawjson.Value) []Finding {
	r, uri, ok := in.ruleFor(item)
	if !ok {
		return nil
	}
	d, err := read(item)
	if err == nil {
		d.html = bytes.Replace(d.html, []byte(r.script), nil, 1)
		_, err = place(d.html)
	}
	switch {
	case errors.Is(err, errCarries):
		return finding("page-client-own", uri, "the page carries the client already, or opts out, so nothing is put into it",
			"take it out of the configuration if that is what you want")
	case err != nil:
		_, found := in.Content(item)
		return found
	}
	var found []Finding
	policies, base := inspect(d.html)
	for _, policy := range policies {
		if !allowsInline(policy) {
			found = append(found, finding("page-csp", uri,
				"the page's own content security policy allows no inline script; the client stands in front of it and runs, but not in a host that holds the whole page to it",
				"add "+Hash()+" to its script-src; it is a new one with every release of the client")...)
			break
		}
	}
	if base != "" && strings.Contains(r.script, attributeEscaper.Replace(`"route":"history"`)) {
		found = append(found, finding("page-base", uri,
			"the page's <base href> makes addresses point elsewhere, so a deep link changes the history state but not the address",
			"use route hash, or take the base out of the page")...)
	}
	return found
}

// inspect returns the content security policies that a page declares, and its
// base address.
func inspect(doc []byte) (policies []string, base string) {
	for z := html.NewTokenizer(bytes.NewReader(doc)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return policies, base
		case html.StartTagToken, html.SelfClosingTagToken:
			switch t := z.Token(); {
			case t.Data == "meta" && strings.EqualFold(attribute(t, "http-equiv"), "content-security-policy"):
				policies = append(policies, attribute(t, "content"))
			case t.Data == "base" && base == "":
				base = attribute(t, "href")
			}
		}
	}
}

// allowsInline reports whether a policy lets the injected script run. (CSP Level
// 3, §6.7.3.2: a nonce or a hash switches 'unsafe-inline' off.)
func allowsInline(policy string) bool {
	directives := make(map[string][]string)
	for directive := range strings.SplitSeq(policy, ";") {
		words := strings.Fields(directive)
		if len(words) == 0 {
			continue
		}
		name := strings.ToLower(words[0])
		if _, repeated := directives[name]; !repeated { // the first one counts
			directives[name] = words[1:]
		}
	}
	for _, name := range []string{"script-src-elem", "script-src", "default-src"} {
		sources, ok := directives[name]
		if !ok {
			continue
		}
		if slices.Contains(sources, Hash()) {
			return true
		}
		inline := false
		for _, source := range sources {
			source = strings.ToLower(source)
			if strings.HasPrefix(source, "'nonce-") || strings.HasPrefix(source, "'sha") || source == "'strict-dynamic'" {
				return false
			}
			inline = inline || source == "'unsafe-inline'"
		}
		return inline
	}
	return true
}
