package caddymodule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

func listed(list rawjson.Value, member string) (names []string) {
	for element := range list.Elements() {
		name, _ := element.Get(member).Text()
		names = append(names, name)
	}
	return names
}

func (w *messageWorld) shownOf(kind policy.Kind, names []string) (shown []string) {
	for _, name := range names {
		if w.view.Shows(kind, name) {
			shown = append(shown, name)
		}
	}
	return shown
}

func (w *messageWorld) toolNames() (names []string) {
	for _, t := range w.tools {
		names = append(names, t.name)
	}
	return names
}

// listTools follows the pages, as a client does.
func (w *messageWorld) listTools(tally *worldTally) string {
	var names []string
	cursor := ""
	for range 20 {
		params := ""
		if cursor != "" {
			params = `"cursor":"` + cursor + `"`
		}
		answer, _, err := w.ask(tally, "tools/list", params)
		if err != nil {
			return err.Error()
		}
		for tool := range answer.Get("result", "tools").Elements() {
			name, _ := tool.Get("name").Text()
			names = append(names, name)
			if problem := w.checkTool(name, tool); problem != "" {
				return problem
			}
		}
		if cursor, _ = answer.Get("result", "nextCursor").Text(); cursor == "" {
			break
		}
	}
	if want := w.shownOf(policy.Tool, w.toolNames()); !slices.Equal(names, want) {
		return fmt.Sprintf("tools %q are listed, want %q", names, want)
	}
	return ""
}

// checkTool checks that what hangs on a shown tool is there if it may be.
func (w *messageWorld) checkTool(name string, tool rawjson.Value) string {
	t := w.tools[slices.IndexFunc(w.tools, func(t worldTool) bool { return t.name == name })]
	if page, _ := tool.Get("_meta", "ui", "resourceUri").Text(); page != t.page {
		return fmt.Sprintf("%s has the page %q, want %q", name, page, t.page)
	}
	own := !slices.ContainsFunc(w.module.OpenAI.Entrypoints, func(e openai.Entrypoint) bool { return e.Tool == name })
	if got := tool.Get("_meta", "openai/ui", "entrypoints"); own && t.quick != "" && strings.Contains(string(got), `"`+t.quick+`"`) != w.calls(t.quick) {
		return fmt.Sprintf("%s has the quick action %s to %s: %s", name, got, t.quick, tool)
	}
	return ""
}

func (w *messageWorld) listOthers(tally *worldTally) string {
	for _, l := range []struct {
		method, list, member string
		kind                 policy.Kind
		names                []string
	}{
		{"prompts/list", "prompts", "name", policy.Prompt, w.prompts},
		{"resources/list", "resources", "uri", policy.Resource, w.resources},
		{"resources/templates/list", "resourceTemplates", "uriTemplate", policy.Template, w.template},
	} {
		answer, _, err := w.ask(tally, l.method, "")
		if err != nil {
			return err.Error()
		}
		if got, want := listed(answer.Get("result", l.list), l.member), w.shownOf(l.kind, l.names); !slices.Equal(got, want) {
			return fmt.Sprintf("%s %q are listed, want %q", l.list, got, want)
		}
	}
	return ""
}

func (w *messageWorld) handshake(tally *worldTally) string {
	method, params := "initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}`
	if w.modern {
		method, params = "server/discover", ""
	}
	answer, _, err := w.ask(tally, method, params)
	if err != nil {
		return err.Error()
	}
	extensions := answer.Get("result", "capabilities", "extensions")
	settings, mentions := w.calls(w.readTool) && w.calls(w.updateTool), w.calls(w.search)
	if extensions.Get("openai/settings").Exists() != settings {
		return fmt.Sprintf("settings advertised, want %v: %s", settings, answer)
	}
	if !w.modern { // may be told by the marker instead
		mentions = mentions && extensions.Get("openai/mentions").Exists()
	}
	if extensions.Get("openai/mentions").Exists() != mentions || !extensions.Get("other").Exists() {
		return fmt.Sprintf("mentions advertised, want %v: %s", mentions, answer)
	}
	return ""
}
