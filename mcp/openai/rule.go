package openai

import (
	"slices"
	"strings"
)

// Severity says how much a finding costs.
type Severity string

// The severities, from what users miss to what only other hosts mind.
const (
	// Broken means that a host does not get, or refuses, what was declared.
	Broken Severity = "error"
	// Doubtful means that it works in part, or that a review asks about it.
	Doubtful Severity = "warning"
	// Note means that it is as it may be: meant, repaired, or of interest to
	// hosts other than ChatGPT.
	Note Severity = "note"
)

// Rule is what findings of one code have in common. The ID never changes its
// meaning, so that operators can look it up and scripts can count it.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Meaning  string   `json:"meaning"` // what is wrong wherever it is found, in one sentence
	Fix      string   `json:"fix"`     // what to do about it
}

// Codes of what is refused on its way and not only left undeclared. They stand
// in log lines about withheld answers.
const (
	SettingsRefused = "settings-result-refused"
	MentionsRefused = "mentions-result-refused"
	FormRefused     = "form-refused"
)

// Rules lists every code that a [Finding] or a log line about a withheld answer
// can have, sorted by ID.
func Rules() []Rule { return slices.Clone(rules) }

// RuleOf answers the rule behind a code.
func RuleOf(code string) (Rule, bool) {
	i, found := slices.BinarySearchFunc(rules, code, func(r Rule, code string) int { return strings.Compare(r.ID, code) })
	if !found {
		return Rule{}, false
	}
	return rules[i], true
}

const (
	correctServer = "Correct the server."
	correctSchema = "Correct the schema in the server; until then the repair goes on."
)

var rules = []Rule{
	{"S01", Broken, "A pattern uses a Unicode class such as \\p{L}; OpenAI reads patterns with Python and then refuses the whole catalog.", "List the characters, put the rule into the description, or write repair schemas."},
	{"S01-repaired", Note, "A pattern with a Unicode class was moved into the description.", correctSchema},
	{"S02", Doubtful, "A pattern uses what RE2, Python and ECMAScript do not share.", "Use plain classes, groups and counts, or write repair schemas."},
	{"S02-repaired", Note, "A pattern that not every host can read was moved into the description.", correctSchema},
	{"S03", Broken, "The root of a tool's schema is not of type object with explicit properties.", "Write type object and properties, {} for none."},
	{"S03-repaired", Note, "Empty properties were added to the root of a schema.", correctSchema},
	{"S04", Broken, "anyOf, oneOf, allOf, enum or not stands at the root of a schema, which costs the whole catalog.", "Move it into a property."},
	{"S05", Broken, "An array has no items, or items is a list of schemas.", "Write one schema for all items."},
	{"S05-repaired", Note, "Empty items were added to an array.", correctSchema},
	{"S06", Broken, "A value under properties is no schema.", "Write an object."},
	{"S07", Doubtful, "A format that some hosts refuse.", "Put it into the description, or write repair schemas."},
	{"S07-repaired", Note, "A format that some hosts refuse was moved into the description.", correctSchema},
	{"S08", Note, "Hosts with strict schemas want additionalProperties false and every property required.", "Nothing for ChatGPT."},
	{"S09", Note, "Hosts with strict schemas refuse this keyword.", "Nothing for ChatGPT."},
	{"S10", Doubtful, "enum or const stands at type null.", "Leave it out: null is the only value."},
	{"S10-repaired", Note, "enum or const at type null was dropped.", correctSchema},
	{"S11", Doubtful, "An object schema that says nothing may fail the whole listing.", "Declare its properties or additionalProperties."},
	{"S12", Doubtful, "A schema is larger than hosts allow.", "Make it smaller."},
	{"S13", Broken, "A schema refers to another document, which no host fetches.", "Put it under $defs."},
	{"S15", Note, "A tool name that some hosts refuse.", "Nothing for ChatGPT; for others use letters, digits, underscore and hyphen, up to 64."},
	{"S16", Doubtful, "Two tools share a name, or there are more tools than hosts take.", "Rename one, or show each caller fewer tools."},
	{"S17", Note, "Some hosts refuse the keyword default.", "Put it into the description."},
	{"S18", Broken, "x-mcp-header is no token of its own on a primitive property, so that clients drop the tool.", correctServer},
	{"capability-withheld", Note, "A capability was not advertised to a caller, because its tools are not in the caller's catalog or do not fit.", "Nothing, if the caller is meant not to have the tools; otherwise correct the tools or the policy."},
	{"csp-invalid", Broken, "The server's own content security policy holds what is no origin.", "Write a scheme and a host, maybe a port, never a path."},
	{"csp-on-tool", Broken, "A content security policy stands on a tool, where hosts do not look.", "Put it on the content item of the page, or write it as a csp line."},
	{"description-missing", Doubtful, "A tool has no description.", "Add one in the server, or with a tool line."},
	{"display-bad-meta", Broken, "Display modes cannot be added, because the page's _meta is not built of objects.", correctServer},
	{"display-contradiction", Broken, "The configured display modes contradict those of the page.", "Correct one of the two."},
	{"display-invalid", Doubtful, "A page names display modes that ChatGPT does not have.", "Use inline and fullscreen."},
	{"entrypoint-bad-meta", Broken, "An entrypoint cannot be added, because the tool's _meta is not built of objects.", correctServer},
	{"entrypoint-file-schema", Broken, "A file entrypoint was not declared: its tool does not provably accept {file: {name, resourceUri}}.", "Declare file as an object with the strings name and resourceUri, and require nothing else."},
	{"entrypoint-invalid", Broken, "The server declares an entrypoint that hosts refuse.", correctServer},
	{"entrypoint-needs-arguments", Broken, "An entrypoint was not declared: its tool does not provably accept {}.", "Make every argument optional, or use a wrapper tool without arguments."},
	{"entrypoint-no-ui", Broken, "An entrypoint was not declared: its tool has no ui:// resource.", "Set _meta.ui.resourceUri in the server, or name a tool that has it."},
	{"entrypoint-not-list", Broken, "The server's own entrypoints are no array, so that none can be added.", correctServer},
	{"entrypoint-not-read-only", Broken, "An entrypoint was not declared: its tool does not say readOnlyHint true.", "If it only reads, say so in the server or with a tool line."},
	{"entrypoint-several", Doubtful, "A tool has several entrypoints, and all of them show one title.", "Give each entrypoint a tool of its own."},
	{"entrypoint-title-is-plugin", Broken, "An entrypoint was not declared: its title is the plugin's own.", "Give it a title that says what the view shows."},
	{"entrypoint-title-missing", Doubtful, "A tool with an entrypoint has no title, so that users see its name.", "Add a title to the entrypoint."},
	{"entrypoint-title-repeated", Broken, "An entrypoint was not declared: another tool has its title.", "Give it a title of its own."},
	{"file-params", Broken, "openai/fileParams names what is no declared file.", "Name top-level properties that are objects with download_url and file_id."},
	{"form-preview-hidden", Note, "A preview was taken out of a form, because the caller may not open it.", "Nothing, if that is meant; otherwise add a policy rule."},
	{FormRefused, Broken, "A form was kept from the client: the client shows none, or the form is one that hosts do not show. The server was told.", "Read the log line; correct the form, or ask only clients with the capability."},
	{"hints-bad-annotations", Broken, "Hints cannot be added, because the tool's annotations are no object.", correctServer},
	{"hints-contradiction", Broken, "A configured hint would make a tool look safer than its own server says, and was not declared.", "Correct the annotations in the server, or take the hint out."},
	{"hints-missing", Doubtful, "A review for publishing asks for readOnlyHint, destructiveHint and openWorldHint in so many words.", "Add them in the server, or with a tool line."},
	{"icon-invalid", Broken, "An icon that hosts may refuse.", "Use https or data:image addresses and only the members of MCP."},
	{"icon-not-monochrome", Note, "An icon does not use currentColor, so that it may vanish in one of the themes.", "Draw it with currentColor."},
	{"icon-not-svg", Note, "An icon is no SVG, so that it cannot take the colour of the text.", "Use a 20×20 SVG in currentColor."},
	{"mentions-marker-unfit", Broken, "The old mention marker was taken off a tool that does not qualify for mentions.", "Set readOnlyHint true and visibility app in the server, or remove the marker."},
	{MentionsRefused, Broken, "The answer of the mention search was withheld: its items are none that hosts show.", "Read the log line; correct the server."},
	{"mentions-unfit", Broken, "The configured search tool is not usable for mentions.", "Correct the tool; if it only reads, say so with a tool line."},
	{"metadata-limit", Broken, "Extension metadata is larger or deeper than the limit.", "Make it smaller, or raise the limit."},
	{"page-base", Doubtful, "A page's base element makes addresses point elsewhere, so that a deep link changes the history state but not the address.", "Use route hash, or take the base out of the page."},
	{"page-client-missing", Broken, "The page client was not put into a page.", "Read the warning's detail; correct the page, or take the client line out."},
	{"page-client-own", Note, "A page carries the page client already, or opts out, so that nothing was put into it.", "Nothing, if that is meant; otherwise take the client out of the page."},
	{"page-csp", Doubtful, "A page's own content security policy allows no inline script, so that the page client may not run in every host.", "Add the hash that the warning names to its script-src; each release has a new one."},
	{"permission-unknown", Doubtful, "A page asks for a permission that MCP Apps does not have.", "Use camera, microphone, geolocation or clipboardWrite, each {}."},
	{"quickaction-hidden", Note, "A quick action was left out, because its target is not in the caller's catalog.", "Nothing, if that is meant; otherwise add a policy rule."},
	{"resource-bad-meta", Broken, "Nothing can be added to a page, because its _meta is not built of objects.", correctServer},
	{"resource-mime", Broken, "A page has a media type that hosts do not open.", "Answer text/html;profile=mcp-app, or write repair mime."},
	{"result-link", Broken, "A link to the plugin in a result does not open.", "Correct the server; caddy mcp-app link builds links and checks them."},
	{"result-link-hidden", Doubtful, "A result links to a tool that the caller does not have.", "Add a policy rule, or let the server not link to it."},
	{"schema-repairs-limit", Doubtful, "A schema needs more repairs than are made.", correctServer},
	{"schema-too-large", Doubtful, "A schema is too large to be repaired.", "Make it smaller."},
	{"settings-default", Doubtful, "A setting has the keyword default, which the official SDKs refuse.", "Give the default in values instead."},
	{"settings-layout-needs-arguments", Broken, "A tool was left out of the settings page: it does not provably accept {}.", "Make every argument of the tool optional."},
	{"settings-layout-tool-hidden", Note, "A tool was left out of the settings page: the caller does not have it.", "Nothing, if that is meant; otherwise add a policy rule."},
	{"settings-pattern", Doubtful, "Not every host reads a pattern of the settings alike.", "Use what RE2, Python and ECMAScript share."},
	{SettingsRefused, Broken, "The answer of the settings read tool was withheld: it is no settings page.", "Read the log line; correct the server."},
	{"settings-update-result", Doubtful, "A settings update was carried out, but its answer is not what hosts expect.", "Answer {values} with the value of every setting."},
	{"status-text", Doubtful, "A status text is longer than hosts show.", "Shorten it to 64 characters."},
	{"tool-bad-meta", Broken, "Nothing can be added to a tool, because its _meta is not built of objects.", correctServer},
	{"ui-resource-mismatch", Broken, "ui.resourceUri and openai/outputTemplate differ, and ChatGPT then shows nothing.", "Make them the same, or switch mirror on."},
	{"visibility-invalid", Broken, "_meta.ui.visibility is no list of model and app.", "List model, app or both."},
}
