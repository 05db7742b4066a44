package caddymodule

import (
	"fmt"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

// draftWriter writes indented lines.
type draftWriter struct {
	strings.Builder
	depth int
}

func (w *draftWriter) line(words ...string) {
	w.WriteString(strings.Repeat("\t", w.depth) + strings.Join(words, " ") + "\n")
}

// comment writes a text of this program.
func (w *draftWriter) comment(format string, args ...any) {
	w.line("# " + fmt.Sprintf(format, args...))
}

func (w *draftWriter) block(head string, inside func()) {
	w.line(head, "{")
	w.depth++
	inside()
	w.depth--
	w.line("}")
}

// word writes a text that caddyfileWord has let through.
func word(text string) string {
	written, _ := caddyfileWord(text)
	return written
}

// clean makes a text of the server harmless inside a comment: one line, without
// secrets, and without braces, since {$…} is replaced in comments too.
func (d *draft) clean(text string, limit int) string {
	text = discovery.Clean(text, limit, d.secrets)
	return strings.NewReplacer("{", "(", "}", ")").Replace(text)
}

// write writes the Caddyfile.
func (d *draft) write() string {
	w := &draftWriter{}
	w.comment("Written by caddy mcp-app init, from what the server says of itself.")
	if server := d.clean(d.server, 80); server != "" {
		w.comment("The server: %s, with %d tools.", server, len(d.tools))
	}
	w.comment("Read every rule: a tool that has one is shown to whoever fulfils it.")
	w.line()
	w.block(d.site.Address, func() {
		w.block(fmt.Sprintf("mcp_app %s %s", d.site.Path, d.site.Upstream), func() {
			w.comment("The URL that users enter, and the audience of their tokens.")
			w.line("resource", d.site.Resource)
			w.line()
			w.block("auth", func() {
				w.comment("Whose tokens are accepted. Recipes: docs/identity-providers.md")
				w.line("issuer", d.site.Issuer)
			})
			w.line()
			d.writeTenant(w)
			d.writePolicy(w)
			d.writeOpenAI(w)
		})
		w.line()
		w.comment("Whatever else is asked for is not found; Caddy would answer 200 with nothing.")
		w.line("respond 404")
	})
	d.writeFindings(w)
	return w.String()
}

func (d *draft) writeTenant(w *draftWriter) {
	if d.site.TenantClaim != "" {
		w.comment("Every caller acts for the one tenant of this claim.")
		w.block("tenant", func() {
			w.line("claim", d.site.TenantClaim)
			w.comment("With a host name for each tenant, or any other sign of it in the route:")
			w.comment("require {http.request.host.labels.2}")
			w.comment("allow acme globex")
		})
		w.line()
		return
	}
	w.comment("If the server has several tenants, say how they are told apart:")
	w.comment("tenant {")
	w.comment("\tclaim org_id")
	w.comment("\trequire {http.request.host.labels.2}")
	w.comment("\tallow acme globex")
	w.comment("}")
	w.line()
}

func (d *draft) writePolicy(w *draftWriter) {
	w.comment("What no rule names does not exist for anybody.")
	w.block("policy", func() {
		if len(d.readers) > 0 {
			w.comment("Tools that say of themselves that they only read: for every good token.")
		}
		for _, name := range d.readers {
			d.describe(w, name)
			w.line("tool", word(name))
		}
		if len(d.writers) > 0 {
			w.comment("Tools that may write: for tokens with a scope, which clients are told to ask for.")
		}
		for _, name := range d.writers {
			d.describe(w, name)
			w.block("tool "+word(name), func() {
				w.line("scopes", d.site.WriteScope)
				w.line("on_missing_scope challenge")
			})
		}
		for _, name := range d.unwritable {
			w.comment("No rule, since its name cannot be written safely: %s", d.clean(name, 80))
		}
		for _, name := range d.prompts {
			w.line("prompt", word(name))
		}
		for _, uri := range d.resources {
			w.line("resource", word(uri))
		}
		if len(d.templates) > 0 {
			w.comment("Templates, and the resources under them. Narrow these if you can.")
		}
		for _, pattern := range d.templates {
			w.line("template", starred(pattern))
			w.line("resource", starred(pattern))
		}
	})
}

// starred writes a pattern whose one star is its last byte.
func starred(pattern string) string {
	written := word(strings.TrimSuffix(pattern, "*"))
	if quoted, ok := strings.CutSuffix(written, `"`); ok {
		return quoted + `*"`
	}
	return written + "*"
}

// describe says in a comment what a tool is.
func (d *draft) describe(w *draftWriter, name string) {
	tool, _ := d.Tool(name)
	t := discoveredTool{tool}
	text := d.clean(t.title(), 60)
	if description := d.clean(t.text("description"), 100); description != "" {
		text = strings.TrimPrefix(text+": "+description, ": ")
	}
	if destructive, _ := t.Get("annotations", "destructiveHint").Bool(); destructive {
		text = strings.TrimPrefix(text+" (destructive)", " ")
	}
	if text != "" {
		w.comment("%s", text)
	}
}

func (d *draft) writeOpenAI(w *draftWriter) {
	if len(d.entrypoints) > 0 || d.settings != nil || d.mentions != "" {
		w.line()
		w.comment("What these tools are to ChatGPT.")
		w.block("openai", func() {
			if len(d.entrypoints) > 0 {
				w.comment("Views that open without arguments: in the sidebar; `thread` puts them into a tab.")
			}
			for _, name := range d.entrypoints {
				w.line("entrypoint", word(name), "global")
			}
			if d.settings != nil {
				w.line("settings", word(d.settings.ReadTool), word(d.settings.UpdateTool))
			}
			if d.mentions != "" {
				w.line("mentions", word(d.mentions))
			}
		})
	}
	if d.navigate != "" {
		w.line()
		w.block("links", func() {
			w.comment("Takes nothing but a URL and only reads: guarded against traversal.")
			w.line("navigate", word(d.navigate))
		})
	}
}

func (d *draft) writeFindings(w *draftWriter) {
	w.line()
	if len(d.findings) == 0 {
		w.comment("Nothing was found in the declarations of the tools that hosts would refuse.")
	} else {
		w.comment("What is still to mend, in the words of caddy mcp-app doctor:")
	}
	for i, f := range d.findings {
		if i == maxDraftFindings {
			w.comment("and %d more.", len(d.findings)-i)
			break
		}
		w.comment("%s  %s: %s", f.Code, d.clean(f.Subject, 80), d.clean(f.Detail, 200))
		w.comment("    %s", d.clean(f.Fix, 200))
	}
	w.comment("When it runs: caddy mcp-app doctor %s", d.site.Resource)
}

// draftResult is what init --json prints.
type draftResult struct {
	Caddyfile   string         `json:"caddyfile"`
	File        string         `json:"file,omitempty"`
	Tools       int            `json:"tools"`
	Rules       int            `json:"rules"`
	Entrypoints []string       `json:"entrypoints"`
	Settings    []string       `json:"settings"`
	Mentions    string         `json:"mentions,omitempty"`
	Navigate    string         `json:"navigate,omitempty"`
	Findings    []draftFinding `json:"findings"`
}

type draftFinding struct {
	Code    string `json:"code"`
	Subject string `json:"subject"`
	Detail  string `json:"detail"`
	Fix     string `json:"fix"`
}

func (d *draft) result(text, file string) draftResult {
	r := draftResult{
		Caddyfile: text, File: file, Tools: len(d.tools), Rules: len(d.rules()),
		Entrypoints: append([]string{}, d.entrypoints...), Settings: []string{},
		Mentions: d.mentions, Navigate: d.navigate, Findings: []draftFinding{},
	}
	if d.settings != nil {
		r.Settings = []string{d.settings.ReadTool, d.settings.UpdateTool}
	}
	for _, f := range d.findings {
		r.Findings = append(r.Findings, draftFinding{
			f.Code, d.clean(f.Subject, discovery.MaxText), d.clean(f.Detail, discovery.MaxText), d.clean(f.Fix, discovery.MaxText),
		})
	}
	return r
}
