package openai

import (
	"errors"
	"fmt"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// cspMember is one list of origins in its two spellings; an empty name means
// that the spelling does not have it. (Apps SDK reference, UI resource.)
type cspMember struct {
	standard string // in _meta.ui.csp
	openai   string // in _meta["openai/widgetCSP"]
	rule     originRule
	of       func(CSP) []string
}

var cspMembers = []cspMember{
	{"connectDomains", "connect_domains", originRule{[]string{"https", "wss"}, true}, func(c CSP) []string { return c.Connect }},
	{"resourceDomains", "resource_domains", originRule{[]string{"https"}, true}, func(c CSP) []string { return c.Resource }},
	{"frameDomains", "frame_domains", originRule{[]string{"https"}, true}, func(c CSP) []string { return c.Frame }},
	{"baseUriDomains", "", originRule{[]string{"https"}, false}, func(c CSP) []string { return c.BaseURI }},
	{"", "redirect_domains", originRule{[]string{"https"}, false}, func(c CSP) []string { return c.Redirect }},
}

const maxOrigins = 64

// check checks the origins of a declaration.
func (c CSP) check() error {
	var errs []error
	declared := 0
	for _, member := range cspMembers {
		origins := member.of(c)
		declared += len(origins)
		for i, origin := range origins {
			if err := checkOrigin(origin, member.rule); err != nil {
				errs = append(errs, err)
			}
			if slices.Contains(origins[:i], origin) {
				errs = append(errs, fmt.Errorf("origin %q is there twice: keep one", origin))
			}
		}
		if len(origins) > maxOrigins {
			errs = append(errs, fmt.Errorf("%d origins in one list, at most %d are allowed", len(origins), maxOrigins))
		}
	}
	if declared == 0 {
		errs = append(errs, errors.New("names no origin: add connect, resource, frame, base_uri or redirect"))
	}
	return errors.Join(errs...)
}

// declareCSP writes the content security policy of an item in both spellings.
// ChatGPT has been seen to read only its own one, other hosts read the standard
// one; a page that is given one of them works in half the places.
func (o *Overlay) declareCSP(item rawjson.Value, uri string, configured *CSP, found *findings) (rawjson.Value, error) {
	standard, own := item.Get("_meta", "ui", "csp"), item.Get("_meta", "openai/widgetCSP")
	reviewCSP(standard, own, uri, found)
	if configured == nil && (!o.mirror || !standard.Exists() && !own.Exists()) {
		return item, nil
	}
	if !standard.Exists() {
		standard = rawjson.Value("{}")
	}
	if !own.Exists() {
		own = rawjson.Value("{}")
	}
	for _, member := range cspMembers {
		origins := memberCalled(standard, member.standard)
		if !origins.Exists() {
			origins = memberCalled(own, member.openai)
		}
		if configured != nil && len(member.of(*configured)) > 0 {
			origins = textArray(member.of(*configured))
		}
		if !origins.Exists() && (member.openai == "connect_domains" || member.openai == "resource_domains") {
			origins = rawjson.Value("[]") // ChatGPT's own spelling wants both lists; empty means what absent means
		}
		if !origins.Exists() {
			continue
		}
		var err error
		if member.standard != "" {
			standard, err = fragment(origins).inside(standard, member.standard)
		}
		if err == nil && member.openai != "" {
			own, err = fragment(origins).inside(own, member.openai)
		}
		if err != nil {
			return item, err
		}
	}
	out, err := fragment(standard).inside(item, "_meta", "ui", "csp")
	if err != nil {
		return item, err
	}
	return fragment(own).inside(out, "_meta", "openai/widgetCSP")
}

// reviewCSP reports origins of the server that hosts ignore.
func reviewCSP(standard, own rawjson.Value, uri string, found *findings) {
	for _, member := range cspMembers {
		for _, list := range []rawjson.Value{memberCalled(standard, member.standard), memberCalled(own, member.openai)} {
			if !list.Exists() {
				continue
			}
			origins, ok := texts(list)
			err := errors.New("a list of origins must be an array of strings")
			if ok {
				err = nil
				for _, origin := range origins {
					err = errors.Join(err, checkOrigin(origin, member.rule))
				}
			}
			if err != nil {
				found.add("csp-invalid", uri, "the server's own origins are not all valid: "+clip(err.Error()), "write origins with their scheme and without a path")
				return
			}
		}
	}
}

// memberCalled is Get for a name that may be missing.
func memberCalled(v rawjson.Value, name string) rawjson.Value {
	if name == "" {
		return nil
	}
	return v.Get(name)
}
