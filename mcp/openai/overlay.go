package openai

import (
	"bytes"
	"errors"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Keys of the extensions, as they stand in _meta and in capabilities.
const (
	keyUI       = "openai/ui"
	keySettings = "openai/settings"
	keyMentions = "openai/mentions"
)

// Overlay is a checked set of declarations. It is immutable and safe for
// concurrent use. The overlay of empty declarations adds nothing, but still
// checks what servers declare themselves, under the default limits.
type Overlay struct {
	revision revision
	plugin   string
	limits   Limits

	entrypoints  map[string][]entrypoint // by exact tool name
	display      []displayRule
	settings     *settingsPair
	mentions     *Mentions
	boundHandles []pattern
	tools        []Tool
	resources    []Resource

	mirror, fixMIME, fixSchemas, checkForms bool

	requests Requests
	results  Results
}

// Compile checks the declarations and makes them ready for use. The error names
// every mistake at once, each with what to write instead.
func Compile(d Declarations) (*Overlay, error) {
	o := &Overlay{
		plugin: d.Plugin, limits: d.Limits.withDefaults(),
		tools: slices.Clone(d.Tools), resources: slices.Clone(d.Resources),
		mirror: d.Mirror, fixMIME: d.RepairMIME, fixSchemas: d.RepairSchemas,
		requests: d.Requests, results: d.Results,
	}
	var errs [10]error
	o.revision, errs[0] = parseRevision(d.Spec)
	o.entrypoints, errs[1] = compileEntrypoints(d)
	o.display, errs[2] = compileDisplay(d.Display)
	o.settings, errs[3] = compileSettings(d.Settings, o.limits)
	o.mentions, o.boundHandles, errs[4] = compileMentions(d.Mentions)
	errs[5] = compileTools(d.Tools)
	errs[6] = compileResources(d.Resources)
	errs[7] = d.Requests.check()
	errs[8] = d.Limits.check()
	o.checkForms, errs[9] = parseForms(d.Forms)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return o, nil
}

// Tool applies the declarations to one element of a tools/list that the caller
// may see. It is [Page.Tool] on a page of its own: repeated titles across
// tools, and quick actions that name a hidden tool, need a [Page].
func (o *Overlay) Tool(tool rawjson.Value) (rawjson.Value, []Finding) {
	return o.Page(PageOptions{}).Tool(tool)
}

// PageOptions tells what is known about the list that a [Page] stands for. The
// zero value knows nothing.
type PageOptions struct {
	// Visible reports whether the caller may see and call a tool. nil means
	// every tool.
	Visible func(tool string) bool

	// Modern tells that the caller speaks protocol 2026-07-28 or newer.
	Modern bool

	// Mentions is what the caller was told about mentions.
	Mentions MentionsState
}

// Page applies an [Overlay] to the tools of one answer, so that rules between
// tools can be kept. It is for one goroutine.
type Page struct {
	overlay *Overlay
	options PageOptions
	titles  map[string]string // folded entrypoint title → the tool that has it
}

// ComparesTools reports whether declarations depend on other tools of the
// listing, so that a later page has to know the earlier ones.
func (o *Overlay) ComparesTools() bool { return len(o.entrypoints) > 0 }

// Page begins a page. For a listing in several pages the rules between tools
// hold within each page and with what [Page.Pass] was told of earlier ones.
func (o *Overlay) Page(options PageOptions) *Page {
	return &Page{overlay: o, options: options, titles: make(map[string]string)}
}

// Pass notes a tool that went out on an earlier page.
func (p *Page) Pass(tool rawjson.Value) { _, _ = p.Tool(tool) }

// StandsAlone reports whether what [Page.Tool] makes of a tool depends on nothing
// but the tool itself: neither on the caller nor on the tools beside it.
func (o *Overlay) StandsAlone(name string, tool rawjson.Value) bool {
	return o.entrypoints[name] == nil && (o.mentions == nil || o.mentions.SearchTool != name) &&
		// Whatever a server says of OpenAI's has a name with this in it, unless it
		// is hidden in escapes.
		!bytes.Contains(tool, []byte("openai")) && !bytes.Contains(tool, []byte(`\u`))
}

// Tool applies the declarations to one element of a tools/list. Anything that
// is not a tool comes back unchanged.
func (p *Page) Tool(tool rawjson.Value) (rawjson.Value, []Finding) {
	name, ok := tool.Get("name").Text()
	if !ok {
		return tool, nil
	}
	o := p.overlay
	var found findings
	tool = o.declareHints(tool, name, &found)
	tool = o.declareTool(tool, name, &found)
	tool = p.declareMentions(tool, name, &found)
	tool = p.declareEntrypoints(tool, name, &found)
	tool = o.mirrorTool(tool)
	o.reviewTool(tool, name, &found)
	if o.fixSchemas {
		tool = repairSchemas(tool, name, &found)
	}
	return tool, found
}
