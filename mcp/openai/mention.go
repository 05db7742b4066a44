package openai

import (
	"errors"
	"fmt"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// The marker by which a search tool was known before there was a capability.
const (
	keyExtensions  = "openai/extensions"
	mentionsMarker = "mentions/search"
)

// MentionsState is what a caller was told about mentions. It decides over the
// marker: hosts read a marker only where the capability is absent, so a marker
// that stays behind would bring back what was withheld.
type MentionsState int

// The states of mentions.
const (
	MentionsUnknown    MentionsState = iota // not known at this point
	MentionsAdvertised                      // the capability went out
	MentionsWithheld                        // there was one to send, and it did not go out
	MentionsAbsent                          // neither the server nor the operator has one
)

// MentionsState derives the state from capabilities as the server sent them and
// as they went out.
func (o *Overlay) MentionsState(before, after rawjson.Value) MentionsState {
	has := func(v rawjson.Value) bool {
		return v.Get("extensions", keyMentions).Exists() || v.Get("experimental", keyMentions).Exists()
	}
	switch {
	case has(after):
		return MentionsAdvertised
	case has(before), o.mentions != nil:
		return MentionsWithheld
	default:
		return MentionsAbsent
	}
}

// compileMentions checks the mentions declaration.
func compileMentions(m *Mentions) (*Mentions, []pattern, error) {
	if m == nil {
		return nil, nil, nil
	}
	var errs []error
	if err := checkToolName(m.SearchTool); err != nil {
		errs = append(errs, fmt.Errorf("mentions: %w", err))
	}
	var bound []pattern
	for _, p := range m.BindHandles {
		if p == "" || !printable(p) {
			errs = append(errs, fmt.Errorf("mentions: bind_handles %q: write the handles as a pattern such as acme://*", p))
		}
		bound = append(bound, pattern(p))
	}
	copied := *m
	return &copied, bound, errors.Join(errs...)
}

// capability is the value to advertise.
func (m *Mentions) capability() rawjson.Value {
	return must(rawjson.Value("{}").Set(rawjson.Quote(m.SearchTool), "searchTool"))
}

// mentionsFit tells why an advertisement of openai/mentions must not reach a
// caller with this catalog. (Extensions, Composer At-Mentions.)
func (o *Overlay) mentionsFit(value rawjson.Value, catalog Catalog) error {
	name, _ := value.Get("searchTool").Text()
	if !visibleText(name, maxToolName) {
		return errors.New("searchTool must name a tool")
	}
	tool, err := o.tool(catalog, name)
	if err != nil {
		return err
	}
	if err := fitsMentions(tool); err != nil {
		return fmt.Errorf("%s cannot search mentions: %w", name, err)
	}
	return nil
}

// fitsMentions checks the declaration of a mention search tool: it only reads,
// the app may call it, and it takes any text as query, the empty one included.
func fitsMentions(tool rawjson.Value) error {
	if readOnly, _ := tool.Get("annotations", "readOnlyHint").Bool(); !readOnly {
		return errors.New("it does not say readOnlyHint true")
	}
	if !appMayCall(tool) {
		return errors.New(`its _meta.ui.visibility does not include "app"`)
	}
	query, err := acceptsOnly(tool.Get("inputSchema"), "query")
	if err != nil {
		return fmt.Errorf("it does not provably accept {query}: %w", err)
	}
	if kind, _ := query.Get("type").Text(); kind != "string" {
		return errors.New("its argument query is not declared as a string")
	}
	for keyword, value := range query.Members() {
		switch {
		case keyword == "type", keyword == "maxLength", harmless(keyword):
		case keyword == "minLength" && string(value) == "0":
		default:
			return fmt.Errorf("the keyword %q of its argument query may refuse a search text", clip(keyword))
		}
	}
	return nil
}

// declareMentions makes the configured search tool callable by the app and
// keeps the marker in step with the capability.
func (p *Page) declareMentions(tool rawjson.Value, name string, found *findings) rawjson.Value {
	o := p.overlay
	byMarker := !p.options.Modern && !o.revision.has(mentionsCapability)
	if o.mentions != nil && o.mentions.SearchTool == name {
		if out, err := letAppCall(tool); err == nil {
			tool = out
		}
		if err := fitsMentions(tool); err != nil {
			found.add("mentions-unfit", name, "not usable for mentions: "+err.Error(), "correct the tool; if it only reads, set readOnlyHint true in the server or with a hints line")
			return unmark(tool)
		}
		if !byMarker {
			return unmark(tool)
		}
		if out, err := fragment("{}").inside(tool, "_meta", keyExtensions, mentionsMarker); err == nil {
			return out
		}
		return tool
	}
	if !tool.Get("_meta", keyExtensions, mentionsMarker).Exists() {
		return tool
	}
	if byMarker && p.options.Mentions != MentionsWithheld || p.options.Mentions == MentionsAbsent {
		return tool
	}
	if o.mentions == nil && p.options.Mentions == MentionsUnknown {
		if fitsMentions(tool) == nil {
			return tool
		}
		found.add("mentions-marker-unfit", name, "the old mention marker was taken off, because the tool does not qualify for mentions", "set readOnlyHint true and visibility app in the server, or remove the marker")
	}
	return unmark(tool)
}

// unmark takes the old marker off a tool, and what is left empty around it.
func unmark(tool rawjson.Value) rawjson.Value {
	if !tool.Get("_meta", keyExtensions, mentionsMarker).Exists() {
		return tool
	}
	if tool.Get("_meta", keyExtensions).Len() == 1 {
		return tool.Delete("_meta", keyExtensions)
	}
	return tool.Delete("_meta", keyExtensions, mentionsMarker)
}

// appMayCall reports whether a tool's visibility includes the app. Without a
// list it is open to both.
func appMayCall(tool rawjson.Value) bool {
	visibility := tool.Get("_meta", "ui", "visibility")
	if !visibility.Exists() {
		return true
	}
	names, _ := texts(visibility)
	return slices.Contains(names, "app")
}

// letAppCall adds the app to a tool's visibility and drops nobody from it.
func letAppCall(tool rawjson.Value) (rawjson.Value, error) {
	visibility := tool.Get("_meta", "ui", "visibility")
	names, ok := texts(visibility)
	switch {
	case !visibility.Exists():
		return tool.Set(rawjson.Value(`["model","app"]`), "_meta", "ui", "visibility") // the default, said aloud
	case !ok || slices.Contains(names, "app"):
		return tool, nil
	default:
		return tool.Set(textArray(append(names, "app")), "_meta", "ui", "visibility")
	}
}
