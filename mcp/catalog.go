package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// DefaultMaxTools bounds a catalog.
const DefaultMaxTools = 2000

// ErrCatalog is wrapped by everything that keeps a catalog from being had.
var ErrCatalog = errors.New("catalog unavailable")

// Catalog is what an upstream lists as tools when asked as one caller, before
// anything is filtered. It holds facts (names, declarations, UI links), never
// permission: who may see a tool is decided afresh for each message.
type Catalog struct {
	order []string
	tools map[string]rawjson.Value
}

// Tool returns the declaration of a tool.
func (c *Catalog) Tool(name string) (rawjson.Value, bool) {
	tool, ok := c.tools[name]
	return tool, ok
}

// Names lists the tools in the upstream's order.
func (c *Catalog) Names() []string { return c.order }

// ToolsShowing lists the tools whose UI is the resource uri.
func (c *Catalog) ToolsShowing(uri string) []string {
	var names []string
	for _, name := range c.order {
		if slices.Contains(UIResources(c.tools[name]), uri) {
			names = append(names, name)
		}
	}
	return names
}

// UIResources returns the UI resources a tool names, in all spellings that
// hosts read: MCP Apps' nested and flat member, and ChatGPT's alias.
func UIResources(tool rawjson.Value) []string {
	var uris []string
	for _, path := range [][]string{{"_meta", "ui", "resourceUri"}, {"_meta", "ui/resourceUri"}, {"_meta", "openai/outputTemplate"}} {
		if uri, ok := tool.Get(path...).Text(); ok {
			uris = append(uris, uri)
		}
	}
	return uris
}

// addPage adds the tools of one tools/list result. Tools that could be read in
// two ways, and repeated names, make the catalog useless as a fact.
func (c *Catalog) addPage(result rawjson.Value, maxTools int) error {
	if c.tools == nil {
		c.tools = make(map[string]rawjson.Value)
	}
	return Entries(result, "tools", "name", func(name string, tool rawjson.Value) error {
		if _, repeated := c.tools[name]; repeated {
			return fmt.Errorf("%w: tool %q is listed twice", ErrMalformed, name)
		}
		if len(c.order) == maxTools {
			return fmt.Errorf("%w: more than %d tools", ErrTooLarge, maxTools)
		}
		c.order = append(c.order, strings.Clone(name))
		c.tools[name] = tool
		return nil
	})
}

// Entries yields the entries of one page of a list, each with what identifies
// it. An entry that readers could identify in two ways makes the page malformed.
func Entries(result rawjson.Value, list, member string, each func(id string, entry rawjson.Value) error) error {
	entries := result.Get(list)
	if entries.Kind() != rawjson.Array {
		return fmt.Errorf("%w: the answer has no array %q", ErrMalformed, list)
	}
	for entry := range entries.Elements() {
		id, ok := elementName(entry, member)
		if !ok {
			return fmt.Errorf("%w: an entry of %q has no readable %s", ErrMalformed, list, member)
		}
		if err := each(id, entry); err != nil {
			return err
		}
	}
	return nil
}

// NewCatalog makes a catalog of tools that were listed elsewhere. Errors wrap
// [ErrMalformed] and [ErrTooLarge].
func NewCatalog(tools []rawjson.Value, maxTools int) (*Catalog, error) {
	c := &Catalog{}
	page, err := rawjson.Value("{}").Set(rawjson.ArrayOf(tools...), "tools")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return c, c.addPage(page, maxTools)
}
