package openai

import "github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"

// Advertisement names the tools that a server's own capabilities give a
// meaning. A name is empty where there is none, or none that could be a tool.
type Advertisement struct {
	ReadTool, UpdateTool, SearchTool string
}

// Advertised reads what a server advertises itself, in either map.
// (Extensions, Server Capabilities.)
func Advertised(capabilities rawjson.Value) Advertisement {
	name := func(key, member string) string {
		for _, place := range []string{"extensions", "experimental"} {
			if value := capabilities.Get(place, key); value.Exists() {
				text, _ := value.Get(member).Text()
				if !visibleText(text, maxToolName) {
					return ""
				}
				return text
			}
		}
		return ""
	}
	return Advertisement{
		ReadTool: name(keySettings, "readTool"), UpdateTool: name(keySettings, "updateTool"),
		SearchTool: name(keyMentions, "searchTool"),
	}
}

// Capabilities is the capabilities object that advertises mentions again.
func (a Advertisement) Capabilities() rawjson.Value {
	if a.SearchTool == "" {
		return rawjson.Value("{}")
	}
	return must(rawjson.Value("{}").Set((&Mentions{SearchTool: a.SearchTool}).capability(), "extensions", keyMentions))
}
