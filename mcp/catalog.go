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
	tools := result.Get("tools")
	if tools.Kind() != rawjson.Array {
		return fmt.Errorf("%w: the answer to tools/list has no array of tools", ErrCatalog)
	}
	if c.tools == nil {
		c.tools = make(map[string]rawjson.Value)
	}
	for tool := range tools.Elements() {
		name, ok := elementName(tool, "name")
		if !ok {
			return fmt.Errorf("%w: a tool has no readable name", ErrCatalog)
		}
		if _, repeated := c.tools[name]; repeated {
			return fmt.Errorf("%w: tool %q is listed twice", ErrCatalog, name)
		}
		if len(c.order) == maxTools {
			return fmt.Errorf("%w: more than %d tools", ErrCatalog, maxTools)
		}
		c.order = append(c.order, strings.Clone(name))
		c.tools[name] = tool
	}
	return nil
}
