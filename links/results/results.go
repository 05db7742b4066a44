// Package results checks the plugin app links that a tool puts into its result.
package results

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Checker judges links to one plugin in the results one caller gets. It looks at
// the places where a link stands for itself: the uri of a resource_link, and
// strings of structuredContent that are a link as a whole. Free text, and links
// to anything else, are not its business.
//
// It finds the mistakes of a server, and links that would lead a caller to a
// tool hidden from it. A server that wants to get a link past it can, by writing
// it differently.
type Checker struct {
	// PluginID and Marketplace are those of [links.AppLink].
	PluginID, Marketplace string

	// Target returns what the caller's catalog says of a tool, and false for a
	// tool that is hidden from the caller or not there.
	Target func(tool string) (links.Target, bool)

	// Drop takes faulty links out of the result. Without it they are only found.
	Drop bool
}

// Finding is one faulty link.
type Finding struct {
	// Pointer is where it stands in the result (RFC 6901).
	Pointer string

	// Err says why it does not work.
	Err error
}

// ErrOtherMarketplace marks a link to a plugin of this id in a marketplace where
// it is not.
var ErrOtherMarketplace = errors.New("names another marketplace than the plugin's own")

// Link judges one URL. The first result is false for a URL that is no link into
// an app of this plugin; the error says why such a link will not open.
func (c Checker) Link(uri string) (own bool, err error) {
	link, err := links.ParseAppLink(uri)

	switch {
	case errors.Is(err, links.ErrNotAppLink):
		return false, nil
	case err != nil:
		// A plugin that cannot even be read is nobody else's.
		id, readable := links.PluginOf(uri)
		if readable && id != c.PluginID {
			return false, nil
		}

		return true, err
	case link.PluginID != c.PluginID:
		return false, nil
	case link.Platform == links.Web && c.Marketplace != "":
		return true, fmt.Errorf("%w: a plugin of a custom marketplace has none on the web", links.ErrNoLink)
	case link.Marketplace != c.Marketplace:
		return true, ErrOtherMarketplace
	}

	var catalog []links.Target
	if target, ok := c.Target(link.Tool); ok {
		catalog = append(catalog, target)
	}

	return true, link.CheckTarget(catalog)
}

// Result judges every link in the result of a tools/call request. With Drop, a
// content block that links to nothing is left out and a string is emptied: a
// member that vanished could break the tool's own output schema. What has no
// faulty link in it is returned as it came.
func (c Checker) Result(result rawjson.Value) (rawjson.Value, []Finding) {
	w := walk{Checker: c}
	result = w.structured(w.content(result))

	return result, w.findings
}
