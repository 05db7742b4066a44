package openai

import (
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Catalog answers for the tools that one caller may see and call now. The raw
// tools are those of the server; declarations of the [Overlay] count as well.
type Catalog interface {
	Tool(name string) (raw rawjson.Value, ok bool)
}

// capability is one server capability that names tools and may be advertised
// only where the caller has them.
type capability struct {
	key   string
	value rawjson.Value // what to advertise; nil if the operator configured nothing
	fits  func(value rawjson.Value, catalog Catalog) error
	never bool // the revision in use does not know it: ours is never advertised
}

// Capabilities puts openai/settings and openai/mentions into the capabilities
// of a server/discover result (modern, under extensions) or an initialize
// result (under extensions and experimental). Each is advertised if and only if
// the tools it names are in the caller's catalog and fit their purpose; what
// the server advertises itself is held to the same rule, and removed from both
// maps where it fails. A nil catalog means that it could not be had, and
// everything is withheld. All other members keep their bytes.
// (Extensions, Server Capabilities.)
func (o *Overlay) Capabilities(modern bool, capabilities rawjson.Value, catalog Catalog) (rawjson.Value, []Finding) {
	var found findings
	for _, c := range o.capabilities(modern) {
		capabilities = c.decide(modern, capabilities, catalog, &found)
	}
	return capabilities, found
}

func (o *Overlay) capabilities(modern bool) []capability {
	settings := capability{key: keySettings, fits: o.settingsFit}
	if o.settings != nil {
		settings.value = o.settings.capability()
	}
	mentions := capability{key: keyMentions, fits: o.mentionsFit}
	if o.mentions != nil {
		mentions.value = o.mentions.capability()
		mentions.never = !modern && !o.revision.has(mentionsCapability)
	}
	return []capability{settings, mentions}
}

// decide sets or removes one capability.
func (c capability) decide(modern bool, capabilities rawjson.Value, catalog Catalog, found *findings) rawjson.Value {
	extension := capabilities.Get("extensions", c.key)
	experimental := capabilities.Get("experimental", c.key)
	value := c.value
	switch {
	case value.Exists():
	case extension.Exists():
		value = extension
	case experimental.Exists():
		value = experimental
	default:
		return capabilities
	}

	if c.never { // declared in another way, which this would switch off
		return capabilities.Delete("extensions", c.key).Delete("experimental", c.key)
	}
	withheld := func(detail, fix string) rawjson.Value {
		found.add("capability-withheld", c.key, detail, fix)
		return capabilities.Delete("extensions", c.key).Delete("experimental", c.key)
	}
	if catalog == nil {
		return withheld("not advertised: the caller's tools could not be listed", "see why the server does not answer tools/list")
	}
	if err := c.fits(value, catalog); err != nil {
		return withheld("not advertised to this caller: "+err.Error(), "nothing, if the caller is meant not to have these tools; otherwise correct the tools or the policy")
	}

	if !c.value.Exists() { // the server's own advertisement stays, but the two maps must agree
		if extension.Exists() && experimental.Exists() && !equal(extension, experimental) {
			return capabilities.Delete("experimental", c.key)
		}
		return capabilities
	}
	if !capabilities.Exists() {
		capabilities = rawjson.Value("{}")
	}
	out, err := fragment(c.value).inside(capabilities, "extensions", c.key)
	if err == nil && modern {
		out = out.Delete("experimental", c.key) // no client of this protocol reads it there
	} else if err == nil {
		out, err = fragment(c.value).inside(out, "experimental", c.key)
	}
	if err != nil {
		return withheld("not advertised: the server's capabilities are not built of objects", "correct the server")
	}
	return out
}

// tool finds a tool the caller has, with the overlay's declarations applied.
func (o *Overlay) tool(catalog Catalog, name string) (rawjson.Value, error) {
	raw, ok := catalog.Tool(name)
	if !ok {
		return nil, fmt.Errorf("the tool %s is not in the caller's catalog", clip(name))
	}
	tool, _ := o.Tool(raw)
	return tool, nil
}
