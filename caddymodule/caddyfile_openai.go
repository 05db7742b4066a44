package caddymodule

import (
	"maps"
	"strconv"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
)

// parseOpenAI reads:
//
//	openai {
//		spec       0.2 | e314720
//		entrypoint <tool> global | thread | file <.extension>... {
//			title        <text>
//			icon         <src> [<media type> [light|dark]]
//			quick_action <tool> <title> <icon src>...
//		}
//		display    <ui:// pattern> [inline] [fullscreen] {
//			prefer inline | fullscreen
//		}
//		settings   <read tool> <update tool>
//		mentions   <search tool> {
//			bind_handles <pattern>...
//		}
//		csp        <ui:// pattern> {
//			connect | resource | frame | base_uri | redirect <origin>...
//		}
//		page       <ui:// pattern> {
//			domain      <origin>
//			host_domain <profile> <value>
//			border      on | off
//			description <text>
//			permissions <name>...
//			client        inject [event|hash|history] | off
//			navigate      <tool> [event|hash|history]
//			notice        <text>
//			handshake     auto | always | never
//			display_modes <mode>...
//			hosts         <origin>...
//		}
//		tool       <name or pattern> {
//			read_only | destructive | idempotent | open_world on | off
//			title | description | invoking | invoked <text>
//			visibility model | app | model app
//		}
//		mirror         on | off
//		repair         mime | schemas | mime schemas
//		forms          check | pass
//		resource_path  strip | pass
//		user_location  strip | pass
//		safe_errors
//		rebuild_content
//		limits {
//			<name> <number>
//		}
//	}
func (m *Handler) parseOpenAI(d *caddyfile.Dispenser) error {
	if err := opens(d, m.OpenAI != nil); err != nil {
		return err
	}
	// Hosts differ in which of two spellings they read, so both go out unless
	// the operator objects.
	m.OpenAI = &OpenAI{Declarations: openai.Declarations{Mirror: true}}
	o := &openaiParser{m.OpenAI}
	known := map[string]subdirective{
		"spec":            scalar(&o.Spec),
		"entrypoint":      o.parseEntrypoint,
		"display":         o.parseDisplay,
		"settings":        o.parseSettings,
		"mentions":        o.parseMentions,
		"csp":             o.parseCSP,
		"page":            o.parsePage,
		"tool":            o.parseTool,
		"mirror":          onOff(func(on bool) { o.Mirror = on }),
		"repair":          o.parseRepair,
		"forms":           oneOf(&o.Forms, "check", "pass"),
		"resource_path":   oneOf(&o.Requests.ResourcePath, "strip", "pass"),
		"user_location":   oneOf(&o.Requests.UserLocation, "strip", "pass"),
		"safe_errors":     flag(&o.Results.SafeErrors),
		"rebuild_content": flag(&o.Results.RebuildContent),
		"limits":          o.parseLimits,
	}
	for word, parse := range known {
		known[word] = func(d *caddyfile.Dispenser) error {
			if err := parse(d); err != nil {
				return err
			}
			// Checked here and not only at load, where the line would be lost.
			_, err := openai.Compile(o.Declarations)
			if err == nil {
				_, err = o.compilePages()
			}
			if err != nil {
				return d.WrapErr(err)
			}
			return nil
		}
	}
	return block(d, known)
}

// openaiParser reads the lines of the openai block.
type openaiParser struct{ *OpenAI }

func (o *openaiParser) parseEntrypoint(d *caddyfile.Dispenser) error {
	args := d.RemainingArgs()
	if len(args) < 2 {
		return d.Err("expected: entrypoint <tool> global, entrypoint <tool> thread, or entrypoint <tool> file <.extension>...")
	}
	e := openai.Entrypoint{Tool: args[0], Type: args[1], Extensions: args[2:]}
	err := block(d, map[string]subdirective{
		"title":        scalar(&e.Title),
		"icon":         func(d *caddyfile.Dispenser) error { return parseIcon(d, &e.Icons) },
		"quick_action": func(d *caddyfile.Dispenser) error { return parseQuickAction(d, &e) },
	})
	o.Entrypoints = append(o.Entrypoints, e)
	return err
}

func parseIcon(d *caddyfile.Dispenser, icons *[]openai.Icon) error {
	args := d.RemainingArgs()
	if len(args) < 1 || len(args) > 3 {
		return d.Err("expected: icon <src> [<media type> [light|dark]]")
	}
	args = append(args, "", "")
	*icons = append(*icons, openai.Icon{Src: args[0], MIMEType: args[1], Theme: args[2]})
	return nil
}

func parseQuickAction(d *caddyfile.Dispenser, e *openai.Entrypoint) error {
	args := d.RemainingArgs()
	if len(args) < 3 {
		return d.Err("expected: quick_action <tool> <title> <icon src>...")
	}
	e.QuickAction = &openai.QuickAction{Tool: args[0], Title: args[1]}
	for _, src := range args[2:] {
		e.QuickAction.Icons = append(e.QuickAction.Icons, openai.Icon{Src: src})
	}
	return nil
}

func (o *openaiParser) parseDisplay(d *caddyfile.Dispenser) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.Err("expected: display <ui:// pattern> [inline] [fullscreen]")
	}
	display := openai.Display{URI: args[0], Available: args[1:]}
	err := block(d, map[string]subdirective{"prefer": scalar(&display.Prefer)})
	o.Display = append(o.Display, display)
	return err
}

func (o *openaiParser) parseSettings(d *caddyfile.Dispenser) error {
	if o.Settings != nil {
		return d.Err("settings already specified")
	}
	o.Settings = &openai.Settings{}
	if !d.AllArgs(&o.Settings.ReadTool, &o.Settings.UpdateTool) {
		return d.Err("expected: settings <read tool> <update tool>")
	}
	return nil
}

func (o *openaiParser) parseMentions(d *caddyfile.Dispenser) error {
	if o.Mentions != nil {
		return d.Err("mentions already specified")
	}
	o.Mentions = &openai.Mentions{}
	if !d.Args(&o.Mentions.SearchTool) || d.NextArg() {
		return d.Err("expected: mentions <search tool>")
	}
	return block(d, map[string]subdirective{"bind_handles": words(&o.Mentions.BindHandles)})
}

func (o *openaiParser) parseCSP(d *caddyfile.Dispenser) error {
	resource := openai.Resource{CSP: &openai.CSP{}}
	if !d.Args(&resource.URI) || d.NextArg() {
		return d.Err("expected: csp <ui:// pattern>, with the origins in a block")
	}
	err := block(d, map[string]subdirective{
		"connect":  words(&resource.CSP.Connect),
		"resource": words(&resource.CSP.Resource),
		"frame":    words(&resource.CSP.Frame),
		"base_uri": words(&resource.CSP.BaseURI),
		"redirect": words(&resource.CSP.Redirect),
	})
	o.Resources = append(o.Resources, resource)
	return err
}

func (o *openaiParser) parsePage(d *caddyfile.Dispenser) error {
	declared := openai.Resource{HostDomains: make(map[string]string)}
	if !d.Args(&declared.URI) || d.NextArg() {
		return d.Err("expected: page <ui:// pattern>, with its properties in a block")
	}
	client := page.Page{URI: declared.URI}
	described := map[string]subdirective{
		"domain": scalar(&declared.Domain),
		"host_domain": func(d *caddyfile.Dispenser) error {
			var profile, value string
			if !d.AllArgs(&profile, &value) {
				return d.Err("expected: host_domain <profile> <value>")
			}
			declared.HostDomains[profile] = value
			return nil
		},
		"border":      onOff(func(on bool) { declared.PrefersBorder = &on }),
		"description": scalar(&declared.Description),
		"permissions": words(&declared.Permissions),
	}
	var describes, injects bool
	known := noting(&describes, described)
	maps.Copy(known, noting(&injects, clientWords(&client)))
	err := block(d, known)
	if describes || !injects {
		o.Resources = append(o.Resources, declared)
	}
	if injects {
		o.Pages = append(o.Pages, client)
	}
	return err
}

// noting remembers whether any of the words was there.
func noting(seen *bool, known map[string]subdirective) map[string]subdirective {
	for word, parse := range known {
		known[word] = func(d *caddyfile.Dispenser) error {
			*seen = true
			return parse(d)
		}
	}
	return known
}

func (o *openaiParser) parseTool(d *caddyfile.Dispenser) error {
	var tool openai.Tool
	if !d.Args(&tool.Name) || d.NextArg() {
		return d.Err("expected: tool <name or pattern>, with what is said about it in a block")
	}
	err := block(d, map[string]subdirective{
		"read_only":   onOff(func(on bool) { tool.ReadOnly = &on }),
		"destructive": onOff(func(on bool) { tool.Destructive = &on }),
		"idempotent":  onOff(func(on bool) { tool.Idempotent = &on }),
		"open_world":  onOff(func(on bool) { tool.OpenWorld = &on }),
		"title":       scalar(&tool.Title),
		"description": scalar(&tool.Description),
		"invoking":    scalar(&tool.Invoking),
		"invoked":     scalar(&tool.Invoked),
		"visibility":  words(&tool.Visibility),
	})
	o.Tools = append(o.Tools, tool)
	return err
}

func (o *openaiParser) parseRepair(d *caddyfile.Dispenser) error {
	var what []string
	if err := words(&what)(d); err != nil {
		return err
	}
	for _, word := range what {
		switch word {
		case "mime":
			o.RepairMIME = true
		case "schemas":
			o.RepairSchemas = true
		default:
			return d.Errf("expected mime or schemas, got %q", word)
		}
	}
	return nil
}

func (o *openaiParser) parseLimits(d *caddyfile.Dispenser) error {
	if err := opens(d, false); err != nil {
		return err
	}
	return block(d, map[string]subdirective{
		"metadata_bytes":  number(&o.Limits.MetadataBytes),
		"metadata_depth":  number(&o.Limits.MetadataDepth),
		"settings_fields": number(&o.Limits.SettingsFields),
		"settings_string": number(&o.Limits.SettingsString),
		"layout_groups":   number(&o.Limits.LayoutGroups),
		"layout_items":    number(&o.Limits.LayoutItems),
		"mention_query":   number(&o.Limits.MentionQuery),
		"mention_items":   number(&o.Limits.MentionItems),
		"mention_handle":  number(&o.Limits.MentionHandle),
		"mention_title":   number(&o.Limits.MentionTitle),
		"mention_icons":   number(&o.Limits.MentionIcons),
	})
}

// onOff reads on or off.
func onOff(set func(bool)) subdirective {
	return func(d *caddyfile.Dispenser) error {
		word := d.Val()
		var text string
		if !d.AllArgs(&text) {
			return d.Errf("%s takes on or off", word)
		}
		switch text {
		case "on", "off":
			set(text == "on")
			return nil
		}
		if value, err := strconv.ParseBool(text); err == nil {
			set(value)
			return nil
		}
		return d.Errf("%s takes on or off, not %q", word, text)
	}
}
