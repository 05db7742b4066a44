package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// maxDraftFindings bounds how many findings a draft lists.
const maxDraftFindings = 60

// maxDraftName bounds a name that gets a rule, in bytes.
const maxDraftName = 256

// draft is the Caddyfile that init writes, before it is text.
type draft struct {
	site    initSite
	server  string // cleaned
	tools   []discoveredTool
	secrets []string

	readers, writers   []string // names of tools that get a rule
	unwritable         []string // cleaned names of those that get none
	prompts            []string
	resources          []string
	templates          []string // as patterns
	entrypoints        []string
	settings           *openai.Settings
	mentions, navigate string
	findings           []openai.Finding
}

// newDraft decides what a server's declarations are fit for. Every decision is
// made by the code that the running gateway uses.
func newDraft(report *discovery.Report, secrets []string, site initSite) *draft {
	name, version := report.Server()
	d := &draft{site: site, secrets: secrets, server: strings.TrimSpace(name + " " + version)}
	seen := make(map[string]bool)
	for _, raw := range report.Tools {
		t := discoveredTool{raw}
		if seen[t.name()] {
			continue // LintCatalog tells
		}
		seen[t.name()] = true
		d.tools = append(d.tools, t)
		readOnly, _ := t.Get("annotations", "readOnlyHint").Bool()
		switch _, ok := caddyfileWord(t.name()); {
		case !ok:
			d.unwritable = append(d.unwritable, t.name())
		case readOnly:
			d.readers = append(d.readers, t.name())
		default:
			d.writers = append(d.writers, t.name())
		}
	}
	d.prompts = d.names(report.Prompts, "name")
	for _, uri := range d.names(report.Resources, "uri") {
		if !strings.HasPrefix(uri, "ui://") { // pages come with their tools
			d.resources = append(d.resources, uri)
		}
	}
	for _, template := range report.Templates {
		text, _ := template.Get("uriTemplate").Text()
		if pattern := templatePattern(text); pattern != "" && !slices.Contains(d.templates, pattern) {
			d.templates = append(d.templates, pattern)
		}
	}
	d.look()
	for _, raw := range report.Tools {
		d.findings = append(d.findings, openai.LintTool(raw)...)
	}
	d.findings = append(d.findings, openai.LintCatalog(report.Tools)...)
	return d
}

// names lists one member of each entry, as far as it can be written.
func (d *draft) names(entries []rawjson.Value, member string) []string {
	var names []string
	for _, entry := range entries {
		text, _ := entry.Get(member).Text()
		if _, ok := caddyfileWord(text); ok && !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	return names
}

// Tool implements openai.Catalog: a draft is judged for a caller who may use all.
func (d *draft) Tool(name string) (rawjson.Value, bool) {
	for _, t := range d.tools {
		if t.name() == name {
			return t.Value, true
		}
	}
	return nil, false
}

// look finds out which declarations would hold.
func (d *draft) look() {
	for _, t := range d.tools {
		if _, ok := caddyfileWord(t.name()); !ok || !t.Get("_meta").Exists() || t.entrypoints() != "-" {
			continue // a server that declares its own needs no line
		}
		if d.holds(append(slices.Clone(d.entrypoints), t.name())) {
			d.entrypoints = append(d.entrypoints, t.name())
		}
	}
	about := func(word string, names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return !strings.Contains(strings.ToLower(name), word)
		})
	}
	const most = 8 // of each, so that a long list costs no square of itself
	for _, read := range first(most, about("setting", d.readers)) {
		for _, update := range first(most, about("setting", d.writers)) {
			pair := &openai.Settings{ReadTool: read, UpdateTool: update}
			if d.settings == nil && d.advertises(openai.Declarations{Settings: pair}, "openai/settings") {
				d.settings = pair
			}
		}
	}
	for _, search := range first(most, about("mention", d.readers)) {
		if d.mentions == "" && d.advertises(openai.Declarations{Mentions: &openai.Mentions{SearchTool: search}}, "openai/mentions") {
			d.mentions = search
		}
	}
	for _, name := range d.readers {
		tool, _ := d.Tool(name)
		properties := tool.Get("inputSchema", "properties")
		_, err := links.CheckNavigate(name, []links.Target{linkTarget(tool)}, []byte(`{"url":"/"}`))
		if d.navigate == "" && err == nil && properties.Len() == 1 && properties.Get("url").Exists() {
			d.navigate = name
		}
	}
}

func first(n int, names []string) []string { return names[:min(n, len(names))] }

// holds reports whether the last of some tools gets its global entrypoint, beside
// those before it.
func (d *draft) holds(names []string) bool {
	var declared openai.Declarations
	for _, name := range names {
		declared.Entrypoints = append(declared.Entrypoints, openai.Entrypoint{Tool: name, Type: "global"})
	}
	overlay, err := openai.Compile(declared)
	if err != nil {
		return false
	}
	page := overlay.Page(openai.PageOptions{})
	got := false
	for _, name := range names {
		tool, _ := d.Tool(name)
		out, _ := page.Tool(tool)
		got = out.Get("_meta", "openai/ui", "entrypoints").Len() > 0
	}
	return got
}

// advertises reports whether a capability would be advertised.
func (d *draft) advertises(declared openai.Declarations, key string) bool {
	overlay, err := openai.Compile(declared)
	if err != nil {
		return false
	}
	capabilities, _ := overlay.Capabilities(true, rawjson.Value(`{}`), d)
	return capabilities.Get("extensions", key).Exists()
}

// ruled counts the tools that have a rule.
func (d *draft) ruled() int { return len(d.readers) + len(d.writers) }

// templatePattern is the pattern for a resource template: its literal beginning
// and a star. A template without such a beginning would open everything.
func templatePattern(template string) string {
	literal, _, found := strings.Cut(template, "{")
	scheme, rest, ok := strings.Cut(literal, "://")
	if _, writable := caddyfileWord(literal); !found || !ok || scheme == "" || scheme == "ui" || rest == "" && scheme == "file" || !writable {
		return ""
	}
	return literal + "*"
}

// caddyfileWord writes a text of a stranger as one word of a Caddyfile, and says
// whether that can be done without any of it meaning something: braces begin
// placeholders and {$…} is replaced everywhere, quotes and backslashes end or
// change words, < begins a heredoc, # a comment, and * would match other names.
func caddyfileWord(text string) (string, bool) {
	if text == "" || len(text) > maxDraftName || !utf8.ValidString(text) || strings.ContainsAny(text, "{}\"`\\<#*$\ufeff") {
		return "", false
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", false
	}
	if strings.HasPrefix(text, " ") || strings.HasSuffix(text, " ") {
		return "", false
	}
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return `"` + text + `"`, true
	}
	return text, true
}

// checked adapts the text as Caddy does and makes sure that exactly the intended
// rules came out of it: what a server calls its tools must not become anything
// else.
func (d *draft) checked(text string) error {
	adapted, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		return fmt.Errorf("the draft is no valid Caddyfile, which is a fault of this command: %w", err)
	}
	if len(warnings) > 0 {
		return fmt.Errorf("the draft is not well written, which is a fault of this command: %s", warnings[0].String())
	}
	var config any
	if err := json.Unmarshal(adapted, &config); err != nil {
		return fmt.Errorf("reading the adapted draft: %w", err)
	}
	var got []string
	collectRules(config, &got)
	want := d.rules()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return errors.New("the draft does not mean what it should, which is a fault of this command; nothing was written")
	}
	return nil
}

// rules are the rules meant, by kind and pattern.
func (d *draft) rules() []string {
	var rules []string
	add := func(kind policy.Kind, names []string) {
		for _, name := range names {
			rules = append(rules, string(kind)+" "+name)
		}
	}
	add(policy.Tool, d.readers)
	add(policy.Tool, d.writers)
	add(policy.Prompt, d.prompts)
	add(policy.Resource, d.allResources())
	add(policy.Template, d.templates)
	return rules
}

// allResources are the resource patterns: those listed and those of templates.
func (d *draft) allResources() []string { return append(slices.Clone(d.resources), d.templates...) }

// collectRules finds all rules of a configuration.
func collectRules(config any, found *[]string) {
	switch v := config.(type) {
	case []any:
		for _, element := range v {
			collectRules(element, found)
		}
	case map[string]any:
		if v["handler"] == "mcp_app" {
			rules, _ := v["policy"].(map[string]any)
			list, _ := rules["rules"].([]any)
			for _, rule := range list {
				members, _ := rule.(map[string]any)
				*found = append(*found, fmt.Sprint(members["kind"], " ", members["pattern"]))
			}
		}
		for _, member := range v {
			collectRules(member, found)
		}
	}
}

// caddyfile writes the draft.
func (d *draft) caddyfile() (string, error) {
	text := string(caddyfile.Format([]byte(d.write())))
	return text, d.checked(text)
}
