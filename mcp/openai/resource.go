package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// mimeApp is the media type of MCP App documents, mimeSkybridge what it was
// before the standard.
const (
	mimeApp       = "text/html;profile=mcp-app"
	mimeSkybridge = "text/html+skybridge"
)

// ProfileChatGPT is the host profile of [Overlay.ResourceContent].
const ProfileChatGPT = "chatgpt"

// permissionNames are the browser features of MCP Apps.
var permissionNames = []string{"camera", "microphone", "geolocation", "clipboardWrite"}

// HostProfile derives the host profile from a client's name, as in clientInfo:
// chatgpt, claude, or the name itself in lower case. It chooses among values
// that are all public, so a client that lies harms nobody.
func HostProfile(clientName string) string {
	name := strings.ToLower(clientName)
	switch {
	case strings.HasPrefix(name, "openai-mcp"), strings.Contains(name, "chatgpt"), strings.Contains(name, "codex"):
		return ProfileChatGPT
	case strings.Contains(name, "claude"):
		return "claude"
	default:
		return name
	}
}

// ResourceContent applies the declarations to one contents item of a
// resources/read result, for ChatGPT. Only HTML items under a ui:// address are
// touched, and of those only _meta and, if that is configured, the media type.
func (o *Overlay) ResourceContent(item rawjson.Value) (rawjson.Value, []Finding) {
	return o.ResourceContentFor(ProfileChatGPT, item)
}

// ResourceContentFor is [Overlay.ResourceContent] for a host of another profile.
func (o *Overlay) ResourceContentFor(profile string, item rawjson.Value) (rawjson.Value, []Finding) {
	uri, ok := item.Get("uri").Text()
	if !ok || !isUI(uri) || !isHTML(item) {
		return item, nil
	}
	var found findings
	item = o.repairMIME(item, uri, &found)
	item = o.declareDisplay(item, uri, &found)
	out, err := o.declareResource(item, uri, profile, &found)
	if err != nil {
		found.add("resource-bad-meta", uri, "the server's _meta is not built of objects, so nothing can be added to it", "correct the server")
		return item, found
	}
	return out, found
}

// ResourceEntry applies the declarations to one element of a resources/list,
// which is the media type alone: hosts read the rest from the content.
func (o *Overlay) ResourceEntry(entry rawjson.Value) (rawjson.Value, []Finding) {
	uri, ok := entry.Get("uri").Text()
	if !ok || !isUI(uri) {
		return entry, nil
	}
	var found findings
	entry = o.repairMIME(entry, uri, &found)
	return entry, found
}

func compileResources(list []Resource) error {
	var errs []error
	for i, r := range list {
		fail := func(err error) {
			if err != nil {
				errs = append(errs, fmt.Errorf("resource %s: %w", r.URI, err))
			}
		}
		fail(checkUIPattern(r.URI))
		if slices.ContainsFunc(list[:i], func(other Resource) bool { return other.URI == r.URI && other.overlaps(r) }) {
			fail(errors.New("the same is declared twice: keep one"))
		}
		if r.CSP != nil {
			fail(r.CSP.check())
		}
		if r.Domain != "" {
			fail(checkOrigin(r.Domain, originRule{schemes: []string{"https"}}))
		}
		for profile, domain := range r.HostDomains {
			if profile == ProfileChatGPT {
				fail(errors.New("the value for chatgpt is the domain itself: write it there"))
			}
			if !visibleText(domain, 253) {
				fail(fmt.Errorf("the domain for %s must be visible text", profile))
			}
		}
		if r.Description != "" && !visibleText(r.Description, maxDescription) {
			fail(fmt.Errorf("the description must be visible text of at most %d characters", maxDescription))
		}
		for _, name := range r.Permissions {
			if !slices.Contains(permissionNames, name) {
				fail(fmt.Errorf("unknown permission %q: write %s", name, strings.Join(permissionNames, ", ")))
			}
		}
	}
	return errors.Join(errs...)
}

// overlaps reports whether two declarations of one address set the same member.
func (r Resource) overlaps(other Resource) bool {
	return r.CSP != nil && other.CSP != nil || r.Domain != "" && other.Domain != "" ||
		r.HostDomains != nil && other.HostDomains != nil || r.PrefersBorder != nil && other.PrefersBorder != nil ||
		r.Description != "" && other.Description != "" || r.Permissions != nil && other.Permissions != nil
}

// resourceFor collects what the most specific declarations say about an
// address, member by member.
func (o *Overlay) resourceFor(uri string) Resource {
	pick := func(has func(Resource) bool) Resource {
		r, _ := mostSpecific(o.resources, uri, func(r Resource) (pattern, bool) { return pattern(r.URI), has(r) })
		return r
	}
	return Resource{
		CSP:           pick(func(r Resource) bool { return r.CSP != nil }).CSP,
		Domain:        pick(func(r Resource) bool { return r.Domain != "" }).Domain,
		HostDomains:   pick(func(r Resource) bool { return r.HostDomains != nil }).HostDomains,
		PrefersBorder: pick(func(r Resource) bool { return r.PrefersBorder != nil }).PrefersBorder,
		Description:   pick(func(r Resource) bool { return r.Description != "" }).Description,
		Permissions:   pick(func(r Resource) bool { return r.Permissions != nil }).Permissions,
	}
}

// declareResource writes the members of MCP Apps and their older spellings.
// (MCP Apps, UI resource metadata; Apps SDK reference, UI resource.)
func (o *Overlay) declareResource(item rawjson.Value, uri, profile string, found *findings) (rawjson.Value, error) {
	r := o.resourceFor(uri)
	item, err := o.declareCSP(item, uri, r.CSP, found)
	if err != nil {
		return item, err
	}
	e := edits{item, nil}
	if r.Domain != "" {
		e.set(rawjson.Quote(r.Domain), "_meta", "openai/widgetDomain")
		if profile == ProfileChatGPT {
			e.set(rawjson.Quote(r.Domain), "_meta", "ui", "domain")
		}
	}
	if domain, ok := r.HostDomains[profile]; ok {
		e.set(rawjson.Quote(domain), "_meta", "ui", "domain")
	}
	if r.PrefersBorder != nil {
		e.set(boolean(*r.PrefersBorder), "_meta", "ui", "prefersBorder")
		e.set(boolean(*r.PrefersBorder), "_meta", "openai/widgetPrefersBorder")
	}
	if r.Description != "" {
		e.set(rawjson.Quote(r.Description), "_meta", "openai/widgetDescription")
	}
	for _, name := range r.Permissions {
		e.set(rawjson.Value("{}"), "_meta", "ui", "permissions", name)
	}
	if o.mirror {
		if profile == ProfileChatGPT {
			e.mirror([]string{"_meta", "ui", "domain"}, []string{"_meta", "openai/widgetDomain"})
		}
		e.mirror([]string{"_meta", "ui", "prefersBorder"}, []string{"_meta", "openai/widgetPrefersBorder"})
	}
	for name, value := range e.v.Get("_meta", "ui", "permissions").Members() {
		if !slices.Contains(permissionNames, name) || value.Kind() != rawjson.Object {
			found.add("permission-unknown", uri, fmt.Sprintf("the permission %q is none of MCP Apps, or not an empty object", clip(name)), "use "+strings.Join(permissionNames, ", ")+", each {}")
		}
	}
	return e.v, e.err
}

// repairMIME corrects the media type if that is configured, and otherwise says
// what is wrong with it.
func (o *Overlay) repairMIME(item rawjson.Value, uri string, found *findings) rawjson.Value {
	mime, ok := item.Get("mimeType").Text()
	folded := strings.ReplaceAll(strings.ToLower(mime), " ", "")
	if !ok || mime == mimeApp || folded != mimeSkybridge && folded != mimeApp {
		return item
	}
	if o.fixMIME {
		return must(item.Set(rawjson.Quote(mimeApp), "mimeType"))
	}
	found.add("resource-mime", uri, fmt.Sprintf("the media type %q is not the one that hosts open", clip(mime)), "answer "+mimeApp+", or switch the repair of media types on")
	return item
}
