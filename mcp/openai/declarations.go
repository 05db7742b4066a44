package openai

import "encoding/json"

// Declarations are the operator's words, before they are checked. The zero
// value declares nothing.
type Declarations struct {
	// Spec is the revision of the extensions that older clients get: "0.2"
	// (default) or "e314720". Clients of the current protocol get 0.2.
	Spec string `json:"spec,omitempty"`

	// Plugin is the plugin's id or title. A view must not carry it as its own
	// title, because users could not tell the two apart.
	Plugin string `json:"plugin,omitempty"`

	// Entrypoints are the tools that users can open without the model.
	Entrypoints []Entrypoint `json:"entrypoints,omitempty"`

	// Display says how UI resources may be shown.
	Display []Display `json:"display,omitempty"`

	// Settings names the tools behind the settings page. Unset, a server's own
	// advertisement is kept as long as it fits the caller's catalog.
	Settings *Settings `json:"settings,omitempty"`

	// Mentions names the tool behind at-mentions in the composer. Unset, a
	// server's own advertisement is kept as long as it fits the caller's
	// catalog.
	Mentions *Mentions `json:"mentions,omitempty"`

	// Tools completes or corrects what the server says about its tools.
	Tools []Tool `json:"tools,omitempty"`

	// Resources completes what the server says about its UI resources.
	Resources []Resource `json:"resources,omitempty"`

	// Mirror writes what the server says in only one of two spellings (such as
	// _meta.ui.csp and openai/widgetCSP) in the other as well. What is declared
	// here always goes out in both.
	Mirror bool `json:"mirror,omitempty"`

	// RepairMIME turns the older media type text/html+skybridge into
	// text/html;profile=mcp-app, the only one that current hosts open.
	RepairMIME bool `json:"repair_mime,omitempty"`

	// RepairSchemas drops advisory keywords from tool schemas that make hosts
	// refuse the whole catalog, and puts the rule into the description. The
	// server still validates.
	RepairSchemas bool `json:"repair_schemas,omitempty"`

	// Forms is check or pass (default): whether forms that a server asks the
	// user to fill in are checked before they reach the host, and the answers
	// before they reach the server.
	Forms string `json:"forms,omitempty"`

	// Requests says what is taken out of requests.
	Requests Requests `json:"requests,omitzero"`

	// Results says what is done with the answers of the settings and mention
	// tools.
	Results Results `json:"results,omitzero"`

	// Limits bound what is accepted.
	Limits Limits `json:"limits,omitzero"`
}

// Entrypoint declares a place in ChatGPT from which a tool is opened.
type Entrypoint struct {
	// Tool is the exact name of a tool with a UI resource.
	Tool string `json:"tool"`

	// Type is global (sidebar), thread (tab in a thread) or file (opens files
	// by extension, desktop only).
	Type string `json:"type"`

	// Extensions are the file extensions with their dot, such as ".stl"; 1 to
	// 32, only for type file. They are added to those the server declares.
	Extensions []string `json:"extensions,omitempty"`

	// Title replaces the tool's title, which is what users see. Empty keeps
	// the server's own.
	Title string `json:"title,omitempty"`

	// Icons replace the tool's icons. Best is one SVG of 20×20 in currentColor.
	Icons []Icon `json:"icons,omitempty"`

	// QuickAction is a button beside the entrypoint; only for type global.
	QuickAction *QuickAction `json:"quick_action,omitempty"`
}

// QuickAction is a button that calls a tool of the same server.
type QuickAction struct {
	Title     string          `json:"title"`               // shown on the button
	Icons     []Icon          `json:"icons"`               // at least one
	Tool      string          `json:"tool"`                // exact name
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object; empty means none
}

// Icon is an image as MCP describes it.
type Icon struct {
	Src      string   `json:"src"`                // https or data:image address
	MIMEType string   `json:"mimeType,omitempty"` // such as image/svg+xml
	Sizes    []string `json:"sizes,omitempty"`    // "20x20" or "any", up to 8
	Theme    string   `json:"theme,omitempty"`    // light or dark; empty means both
}

// Display declares how the UI resources under an address may be shown.
type Display struct {
	// URI is a ui:// address; * stands for any characters, slashes included.
	// If several match, the most specific decides alone.
	URI string `json:"uri"`

	// Available lists the modes: inline, fullscreen. Empty keeps what the
	// resource says itself.
	Available []string `json:"available,omitempty"`

	// Prefer is the mode chosen when the host has a choice. Empty keeps what
	// the resource says itself.
	Prefer string `json:"prefer,omitempty"`
}

// Settings names the two tools behind ChatGPT's settings page.
type Settings struct {
	ReadTool   string `json:"read_tool"`   // answers {schema, values, layout?} to {}
	UpdateTool string `json:"update_tool"` // takes {set}, answers {values}

	// Schema pins the schema that the read tool must answer. Empty means that
	// any valid one will do.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Mentions names the tool that finds what users can mention.
type Mentions struct {
	SearchTool string `json:"search_tool"` // takes {query}, answers {items}

	// BindHandles are patterns of handles, such as acme://*, that only the
	// caller can use to whom they were offered. Empty binds none.
	BindHandles []string `json:"bind_handles,omitempty"`
}

// Tool completes what the server says about its tools. If several patterns
// cover a tool, the most specific one that says anything decides: over all
// hints together, and over each other member by itself.
type Tool struct {
	// Name is an exact tool name, or a pattern in which * stands for any
	// characters.
	Name string `json:"name"`

	// ReadOnly is readOnlyHint, the first of the four hints of MCP. Unset keeps
	// the server's own. A hint that makes a tool look safer than the server says
	// is refused when it is seen.
	ReadOnly *bool `json:"read_only,omitempty"`
	// Destructive is destructiveHint: the tool may delete or overwrite.
	Destructive *bool `json:"destructive,omitempty"`
	// Idempotent is idempotentHint: calling twice is calling once.
	Idempotent *bool `json:"idempotent,omitempty"`
	// OpenWorld is openWorldHint: the tool reaches beyond its own data.
	OpenWorld *bool `json:"open_world,omitempty"`

	// Description replaces that of a tool named exactly; a pattern only gives
	// it to tools that have none.
	Description string `json:"description,omitempty"`

	// Title replaces the tool's title; only for an exact name.
	Title string `json:"title,omitempty"`

	// Invoking is the status text while the tool runs, of at most 64 characters.
	Invoking string `json:"invoking,omitempty"`
	// Invoked is the status text afterwards, of at most 64 characters.
	Invoked string `json:"invoked,omitempty"`

	// Visibility lists who may use the tool: model, app or both.
	Visibility []string `json:"visibility,omitempty"`
}

// Resource completes what the server says about its UI resources. If several
// patterns cover an address, the most specific one that sets a member decides
// over that member.
type Resource struct {
	// URI is a ui:// address; * stands for any characters, slashes included.
	URI string `json:"uri"`

	// CSP lists the origins that the page may use. Members that are set replace
	// those of the server; the others keep what it says.
	CSP *CSP `json:"csp,omitempty"`

	// Domain is the origin of its own that ChatGPT gives the page, such as
	// https://app.example.com. It is required for publishing.
	Domain string `json:"domain,omitempty"`

	// HostDomains are the values of ui.domain for hosts other than ChatGPT, by
	// profile; see [HostProfile]. Their form is the host's business.
	HostDomains map[string]string `json:"host_domains,omitempty"`

	// PrefersBorder asks for a visible border, or for none.
	PrefersBorder *bool `json:"prefers_border,omitempty"`

	// Description tells the model what the page shows, so that it need not.
	Description string `json:"description,omitempty"`

	// Permissions are features of the browser that the page asks for: camera,
	// microphone, geolocation, clipboardWrite.
	Permissions []string `json:"permissions,omitempty"`
}

// CSP lists origins by what they are used for: a scheme and a host, maybe a
// port, never a path. In the first three a host may begin with "*.".
type CSP struct {
	Connect  []string `json:"connect,omitempty"`  // requests and sockets (https, wss)
	Resource []string `json:"resource,omitempty"` // scripts, styles, images, fonts, media
	Frame    []string `json:"frame,omitempty"`    // frames inside the page
	BaseURI  []string `json:"base_uri,omitempty"` // <base href>; not read by ChatGPT
	Redirect []string `json:"redirect,omitempty"` // targets of openExternal; read by ChatGPT only
}

// Requests says what is taken out of requests before the server sees them.
type Requests struct {
	// ResourcePath is strip (default) or pass. The member is a path on the
	// user's machine: useful to a local server, and to a remote one a text that
	// anybody can make up.
	ResourcePath string `json:"resource_path,omitempty"`

	// UserLocation is pass (default) or strip.
	UserLocation string `json:"user_location,omitempty"`
}

// Results says what is done with the answers of the settings and mention tools.
type Results struct {
	// SafeErrors replaces the text of failed calls by a neutral one.
	SafeErrors bool `json:"safe_errors,omitempty"`

	// RebuildContent writes the text of an answer anew from its checked
	// structure, always and not only where the structure was changed.
	RebuildContent bool `json:"rebuild_content,omitempty"`
}
