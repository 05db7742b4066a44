package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// The places from which ChatGPT opens a tool.
const (
	entrypointGlobal = "global"
	entrypointThread = "thread"
	entrypointFile   = "file"
)

const maxFileExtensions = 32

// entrypoint is one checked declaration, with the JSON it will become.
type entrypoint struct {
	kind        string
	extensions  []string
	quickAction *quickAction
	title       string        // of the whole tool; the same in all its entrypoints
	icons       rawjson.Value // likewise
}

// compileEntrypoints checks all entrypoints and sorts them by tool.
func compileEntrypoints(d Declarations) (map[string][]entrypoint, error) {
	byTool := make(map[string][]entrypoint)
	titles := make(map[string]string)
	var errs []error
	for _, declared := range d.Entrypoints {
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("entrypoint %s %s: %w", declared.Tool, declared.Type, fmt.Errorf(format, args...)))
		}
		e := entrypoint{kind: declared.Type, title: declared.Title}
		if err := checkToolName(declared.Tool); err != nil {
			fail("%w", err)
		}
		switch declared.Type {
		case entrypointGlobal, entrypointThread:
			if len(declared.Extensions) > 0 {
				fail("only type file takes file extensions: write entrypoint %s file %s", declared.Tool, strings.Join(declared.Extensions, " "))
			}
		case entrypointFile:
			extensions, err := checkExtensions(declared.Extensions)
			if err != nil {
				fail("%w", err)
			}
			e.extensions = extensions
		case "settings":
			fail("the type settings is gone from the extensions: write settings <read-tool> <update-tool>")
		default:
			fail("unknown type %q: write global, thread or file", declared.Type)
		}
		if declared.Title != "" {
			folded := foldTitle(declared.Title)
			other, taken := titles[folded]
			switch {
			case !visibleText(declared.Title, maxTitle):
				fail("the title must be visible text of at most %d characters", maxTitle)
			case d.Plugin != "" && folded == foldTitle(d.Plugin):
				fail("the title %q is the plugin's own: write what this view shows", declared.Title)
			case taken && other != declared.Tool:
				fail("the title %q is already that of %s: give each entrypoint its own", declared.Title, other)
			}
			titles[folded] = declared.Tool
		}
		if len(declared.Icons) > 0 {
			icons, err := compileIcons(declared.Icons)
			if err != nil {
				fail("%w", err)
			}
			e.icons = icons
		}
		if declared.QuickAction != nil {
			if declared.Type != entrypointGlobal {
				fail("a quick action belongs to a global entrypoint: move it there or remove it")
			}
			action, err := compileQuickAction(*declared.QuickAction, d.Limits)
			if err != nil {
				fail("quick action: %w", err)
			}
			e.quickAction = action
		}
		for _, other := range byTool[declared.Tool] {
			switch {
			case other.kind == e.kind:
				fail("declared twice: keep one line for each tool and type")
			case other.title != "" && e.title != "" && other.title != e.title:
				fail("the tool has one title, but %q and %q are declared: keep one", other.title, e.title)
			}
		}
		byTool[declared.Tool] = append(byTool[declared.Tool], e)
	}
	return byTool, errors.Join(errs...)
}

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

// mergeInto answers the entrypoint list with e in it: members are added to an
// element of the same type, otherwise e becomes the last element.
func (e entrypoint) mergeInto(list rawjson.Value) fragment {
	merged := false
	list = list.MapElements(func(element rawjson.Value) (rawjson.Value, bool) {
		if kind, _ := element.Get("type").Text(); kind != e.kind || merged {
			return element, true
		}
		merged = true
		return e.fill(element), true
	})
	if merged {
		return fragment(list)
	}
	made := e.fill(must(rawjson.Value("{}").Set(rawjson.Quote(e.kind), "type")))
	return fragment(rawjson.ArrayOf(slices.Collect(joinElements(list, made))...))
}

// fill adds e's members to an element of its type. File extensions are joined
// with those that are there; a quick action replaces one that is there.
func (e entrypoint) fill(element rawjson.Value) rawjson.Value {
	if len(e.extensions) > 0 {
		extensions, _ := texts(element.Get("extensions"))
		known := len(extensions)
		for _, extension := range e.extensions {
			if !containsFold(extensions, extension) {
				extensions = append(extensions, extension)
			}
		}
		if len(extensions) > known {
			element = must(element.Set(textArray(extensions), "extensions"))
		}
	}
	if e.quickAction != nil {
		element = must(fragment(e.quickAction.json).inside(element, "quickAction"))
	}
	return element
}

// checkExtensions checks file extensions in the form of the HTML accept
// attribute.
func checkExtensions(extensions []string) ([]string, error) {
	if len(extensions) == 0 || len(extensions) > maxFileExtensions {
		return nil, fmt.Errorf("type file needs 1 to %d file extensions: write them behind it, such as .stl", maxFileExtensions)
	}
	for i, extension := range extensions {
		switch {
		case !strings.HasPrefix(extension, "."):
			return nil, fmt.Errorf("file extension %q must begin with a dot: write %q", extension, "."+strings.TrimSpace(strings.TrimPrefix(extension, "*")))
		case !isExtension(extension[1:]):
			return nil, fmt.Errorf("file extension %q: write a dot and up to 32 letters, digits, dots, underscores or hyphens", extension)
		case containsFold(extensions[:i], extension):
			return nil, fmt.Errorf("file extension %q is there twice: keep one", extension)
		}
	}
	return extensions, nil
}

func isExtension(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return 0 < len(s) && len(s) <= 32
}
