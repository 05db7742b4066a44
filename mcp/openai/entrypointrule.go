package openai

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// declareEntrypoints merges the configured entrypoints into what the tool
// declares itself, and looks at the result as the host would.
func (p *Page) declareEntrypoints(tool rawjson.Value, name string, found *findings) rawjson.Value {
	for _, e := range p.overlay.entrypoints[name] {
		merged, problem := p.declareEntrypoint(tool, name, e)
		if problem != nil {
			*found = append(*found, *problem)
			continue
		}
		tool = merged
	}
	return p.reviewEntrypoints(tool, name, found)
}

// declareEntrypoint answers the tool with e declared, or the reason why not.
func (p *Page) declareEntrypoint(tool rawjson.Value, name string, e entrypoint) (rawjson.Value, *Finding) {
	if problem := p.qualifies(tool, name, e); problem != nil {
		return tool, problem
	}
	list := tool.Get("_meta", keyUI, "entrypoints")
	if list.Exists() && list.Kind() != rawjson.Array {
		return tool, &Finding{
			"entrypoint-not-list", name, "the server's own _meta[\"openai/ui\"].entrypoints is not an array, so nothing can be added to it",
			"correct the server, or hide this tool",
		}
	}
	out, err := e.mergeInto(list).inside(tool, "_meta", keyUI, "entrypoints")
	if err == nil && e.title != "" {
		out, err = setText(out, e.title, "title")
	}
	if err == nil && e.icons.Exists() {
		out, err = fragment(e.icons).inside(out, "icons")
	}
	if err != nil {
		return tool, &Finding{
			"entrypoint-bad-meta", name, "the server's _meta is not built of objects, so nothing can be added to it",
			"correct the server, or hide this tool",
		}
	}
	return out, nil
}

// qualifies tells why ChatGPT would ignore or misuse this tool as an
// entrypoint, nil if it would not. (Extensions, MCP App Entrypoints.)
func (p *Page) qualifies(tool rawjson.Value, name string, e entrypoint) *Finding {
	problem := func(code, detail, fix string) *Finding {
		return &Finding{code, name, e.kind + " entrypoint not declared: " + detail, fix}
	}
	if _, ok := uiResource(tool); !ok {
		return problem("entrypoint-no-ui", "the tool has no ui:// resource to open",
			`set _meta.ui.resourceUri in the server, or name a tool that has it`)
	}
	if readOnly, _ := tool.Get("annotations", "readOnlyHint").Bool(); !readOnly {
		return problem("entrypoint-not-read-only", "opening a view must change nothing, and the tool does not say readOnlyHint true",
			"if the tool only reads, set readOnlyHint true in the server or with a hints line")
	}
	schema := tool.Get("inputSchema")
	if e.kind == entrypointFile {
		if err := acceptsFile(schema); err != nil {
			return problem("entrypoint-file-schema", "the tool does not provably accept {file: {name, resourceUri}}: "+err.Error(),
				"declare file as an object with the strings name and resourceUri, and require nothing else")
		}
	} else if err := acceptsEmpty(schema); err != nil {
		return problem("entrypoint-needs-arguments", "the tool does not provably accept {}: "+err.Error(),
			"make every argument optional, or use a wrapper tool without arguments")
	}
	title := e.title
	if title == "" {
		title = shownTitle(tool)
	}
	folded := foldTitle(title)
	if p.overlay.plugin != "" && folded == foldTitle(p.overlay.plugin) {
		return problem("entrypoint-title-is-plugin", fmt.Sprintf("its title %q is the plugin's own", title),
			"add a title to the entrypoint that says what the view shows")
	}
	if other, taken := p.titles[folded]; taken && other != name {
		return problem("entrypoint-title-repeated", fmt.Sprintf("its title %q is already that of %s", title, other),
			"add a title of its own to the entrypoint")
	}
	p.titles[folded] = name
	return nil
}

// reviewEntrypoints reports what is odd about the entrypoints the tool has
// now, whoever declared them, and takes out quick actions that lead to a tool
// the caller may not see.
func (p *Page) reviewEntrypoints(tool rawjson.Value, name string, found *findings) rawjson.Value {
	list := tool.Get("_meta", keyUI, "entrypoints")
	if list.Len() == 0 || list.Kind() != rawjson.Array {
		return tool
	}
	if list.Len() > 1 {
		found.add("entrypoint-several", name, "the tool has more than one entrypoint, and all of them show the same title",
			"give each entrypoint a tool of its own")
	}
	if title, _ := tool.Get("title").Text(); title == "" && !tool.Get("annotations", "title").Exists() {
		found.add("entrypoint-title-missing", name, "the tool has no title, so users see its name",
			"add a title to the entrypoint")
	}
	p.titles[foldTitle(shownTitle(tool))] = name
	reviewIcons(tool.Get("icons"), name, found)

	kept := list.MapElements(func(e rawjson.Value) (rawjson.Value, bool) {
		if err := checkEntrypoint(e); err != nil {
			found.add("entrypoint-invalid", name, "the server declares an entrypoint that hosts refuse: "+err.Error(), "correct the server")
		}
		return p.reviewQuickAction(e, name, found), true
	})
	if out, err := fragment(kept).inside(tool, "_meta", keyUI, "entrypoints"); err == nil {
		return out
	}
	return tool
}

// checkEntrypoint checks one element of entrypoints as hosts of both revisions
// read it.
func checkEntrypoint(e rawjson.Value) error {
	if e.Kind() != rawjson.Object {
		return errors.New("an entrypoint must be an object")
	}
	switch kind, _ := e.Get("type").Text(); kind {
	case entrypointFile:
		if e.Get("quickAction").Exists() {
			return errors.New("quickAction belongs to global entrypoints only")
		}
		extensions, ok := texts(e.Get("extensions"))
		if !ok {
			return errors.New("type file needs extensions, an array of strings")
		}
		_, err := checkExtensions(extensions)
		return err
	case entrypointThread:
		if e.Get("quickAction").Exists() {
			return errors.New("quickAction belongs to global entrypoints only")
		}
	case entrypointGlobal:
		if action := e.Get("quickAction"); action.Exists() {
			return checkQuickAction(action)
		}
	case "settings":
		return errors.New("type settings is deprecated and read by no current host: advertise openai/settings instead")
	default:
		return fmt.Errorf("unknown type %q", kind)
	}
	return nil
}
