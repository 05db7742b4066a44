package openai

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// MentionsQuery checks the arguments of a mention search. query is a string,
// maybe empty. Other arguments pass only where the tool's published schema
// declares them or leaves its list of properties open; without a schema there
// are none. (Extensions, Search Parameters.)
func (o *Overlay) MentionsQuery(arguments, inputSchema rawjson.Value) error {
	if arguments.Kind() != rawjson.Object {
		return errors.New("mention search: the arguments must be an object")
	}
	query, ok := arguments.Get("query").Text()
	if !ok {
		return errors.New("mention search: query must be a string")
	}
	if n := utf8.RuneCountInString(query); n > o.limits.MentionQuery {
		return fmt.Errorf("%w: a query has at most %d characters, not %d", ErrTooLarge, o.limits.MentionQuery, n)
	}
	additional := inputSchema.Get("additionalProperties")
	open := inputSchema.Exists() && additional.Kind() != rawjson.False
	for name := range arguments.Members() {
		if name != "query" && !open && !inputSchema.Get("properties", name).Exists() {
			return fmt.Errorf("mention search: unknown argument %q", clip(name))
		}
	}
	return nil
}

// MentionItems checks the items of a mention search: resource links of MCP, or
// the shape the official SDKs also write, type "resource". Objects are closed,
// and one bad item fails all of them. (Extensions, MentionSearchResult.)
func (o *Overlay) MentionItems(items rawjson.Value) error {
	if items.Kind() != rawjson.Array {
		return errors.New("mentions: items must be an array")
	}
	if n := items.Len(); n > o.limits.MentionItems {
		return fmt.Errorf("%w: at most %d mentions, not %d", ErrTooLarge, o.limits.MentionItems, n)
	}
	if err := o.limits.checkMetadata(items); err != nil {
		return fmt.Errorf("mentions: %w", err)
	}
	for item := range items.Elements() {
		var err error
		switch kind, _ := item.Get("type").Text(); kind {
		case "resource_link":
			err = o.limits.checkLink(item)
		case "resource":
			err = o.limits.checkMentionResource(item)
		default:
			err = errors.New(`type must be "resource_link" or "resource"`)
		}
		if err != nil {
			return fmt.Errorf("mention: %w", err)
		}
	}
	return nil
}

// MentionsResult checks a whole tools/call result of the search tool. seal, if
// not nil, replaces each handle by one that only this caller can use; see
// [Handles].
func (o *Overlay) MentionsResult(result rawjson.Value, seal func(handle string) string) (rawjson.Value, error) {
	if out, done := o.passed(result); done {
		return out, nil
	}
	structured := result.Get("structuredContent")
	if err := closed(structured, "items"); err != nil {
		return nil, fmt.Errorf("mentions: structuredContent %w", err)
	}
	items := structured.Get("items")
	if err := o.MentionItems(items); err != nil {
		return nil, err
	}
	if seal != nil {
		items = items.MapElements(func(item rawjson.Value) (rawjson.Value, bool) { return sealItem(item, seal), true })
		if err := o.MentionItems(items); err != nil {
			return nil, fmt.Errorf("sealing handles: %w", err)
		}
		structured = must(structured.Set(items, "items"))
	}
	return o.replaceStructure(result, structured)
}

// checkLink checks an MCP ResourceLink.
func (l Limits) checkLink(link rawjson.Value) error {
	if err := closed(link, "type", "uri", "name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta"); err != nil {
		return err
	}
	if err := l.checkHandle(link.Get("uri")); err != nil {
		return fmt.Errorf("uri %w", err)
	}
	if name, _ := link.Get("name").Text(); !visibleText(name, l.MentionTitle) {
		return fmt.Errorf("name must be visible text of at most %d characters", l.MentionTitle)
	}
	if err := l.checkTexts(link, l.MentionTitle, "title"); err != nil {
		return err
	}
	if d := link.Get("description"); d.Exists() {
		if text, ok := d.Text(); !ok || utf8.RuneCountInString(text) > maxDescription {
			return fmt.Errorf("description must be text of at most %d characters", maxDescription)
		}
	}
	if err := l.checkTexts(link, 128, "mimeType"); err != nil {
		return err
	}
	if size := link.Get("size"); size.Exists() {
		if n, ok := parseNumber(size); !ok || !n.integral() || n.float < 0 {
			return errors.New("size must be a number of bytes")
		}
	}
	for _, name := range []string{"annotations", "_meta"} {
		if v := link.Get(name); v.Exists() && v.Kind() != rawjson.Object {
			return fmt.Errorf("%s must be an object", name)
		}
	}
	return l.checkItemIcons(link)
}

// checkMentionResource checks the item shape of the official SDKs.
func (l Limits) checkMentionResource(item rawjson.Value) error {
	if err := closed(item, "type", "resourceUri", "title", "subtitle", "icons"); err != nil {
		return err
	}
	if err := l.checkHandle(item.Get("resourceUri")); err != nil {
		return fmt.Errorf("resourceUri %w", err)
	}
	if !item.Get("title").Exists() {
		return errors.New("title is missing")
	}
	if err := l.checkTexts(item, l.MentionTitle, "title", "subtitle"); err != nil {
		return err
	}
	return l.checkItemIcons(item)
}

// checkTexts checks members that, where they are there, must be visible text.
func (l Limits) checkTexts(item rawjson.Value, most int, names ...string) error {
	for _, name := range names {
		if v := item.Get(name); v.Exists() {
			if text, _ := v.Text(); !visibleText(text, most) {
				return fmt.Errorf("%s must be visible text of at most %d characters", name, most)
			}
		}
	}
	return nil
}

func (l Limits) checkItemIcons(item rawjson.Value) error {
	icons := item.Get("icons")
	if !icons.Exists() {
		return nil
	}
	return checkIcons(icons, l.MentionIcons)
}

// checkHandle checks an address that the user will pick and the server will
// read: any scheme but those that carry script or content themselves.
func (l Limits) checkHandle(v rawjson.Value) error {
	handle, _ := v.Text()
	scheme, ok := uriScheme(handle)
	switch {
	case !ok || len(handle) > l.MentionHandle:
		return fmt.Errorf("must be an address with a scheme, without white space, of at most %d bytes", l.MentionHandle)
	case scheme == "javascript", scheme == "vbscript", scheme == "data":
		return fmt.Errorf("must not be a %s: address", scheme)
	}
	return nil
}

// uriScheme returns the scheme of an address in lower case, and false if there
// is none or the text cannot be an address. (RFC 3986 §3.1.)
func uriScheme(uri string) (string, bool) {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || rest == "" || !printable(uri) || strings.ContainsAny(uri, " \\\u2028\u2029\u00a0") {
		return "", false
	}
	for i := range len(scheme) {
		c := scheme[i] | 0x20
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(scheme[i]))) {
			return "", false
		}
	}
	return strings.ToLower(scheme), scheme != ""
}
