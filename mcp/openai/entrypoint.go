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
