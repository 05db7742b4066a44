package workspace

import (
	"context"
	"embed"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
)

// pageType is the media type by which hosts know an MCP App page.
const pageType = "text/html;profile=mcp-app"

// recentDecks is how many decks the tray shows.
const recentDecks = 3

//go:embed pages
var pageFiles embed.FS

var (
	schemaHome = json.RawMessage(`{"type":"object",` +
		`"properties":{"tenant":{"type":"string"},"decks":{"type":"array","items":` + schemaDeck + `},` +
		`"total":{"type":"integer"},"settings":{"type":"object"}},"required":["tenant","decks","total","settings"]}`)

	schemaTray = json.RawMessage(`{"type":"object",` +
		`"properties":{"tenant":{"type":"string"},"recent":{"type":"array","items":` + schemaDeck + `}},` +
		`"required":["tenant","recent"]}`)
)

type (
	homeResult struct {
		Tenant   string `json:"tenant"`
		Decks    []deck `json:"decks"` // the first page, by the caller's settings
		Total    int    `json:"total"` // of all pages
		Settings values `json:"settings"`
	}
	trayResult struct {
		Tenant string `json:"tenant"`
		Recent []deck `json:"recent"` // newest first
	}
)

// addPages registers the pages and the tools that open them.
func (s *Server) addPages() {
	s.addPage("ui://workspace/home", "Workspace home", "home.html")
	addTool(s, &mcp.Tool{
		Meta:         pageLink("ui://workspace/home"),
		Name:         "workspace.home",
		Title:        "Workspace",
		Description:  "Opens the workspace with its decks.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaHome,
	}, func(ctx context.Context, who caller, _ nothing) (homeResult, error) {
		return s.store.home(ctx, who)
	})

	s.addPage("ui://workspace/tray", "Workspace tray", "tray.html")
	addTool(s, &mcp.Tool{
		Meta:         pageLink("ui://workspace/tray"),
		Name:         "workspace.tray",
		Title:        "Recent decks",
		Description:  "Opens a small list of the decks made last.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaTray,
	}, func(ctx context.Context, who caller, _ nothing) (trayResult, error) {
		return s.store.tray(ctx, who)
	})
}

// home is what the home page shows. A caller without a subject has no settings
// of its own and sees the initial ones.
func (st *store) home(ctx context.Context, who caller) (homeResult, error) {
	settings, err := st.settings(ctx, who)
	if err != nil {
		return homeResult{}, err
	}

	decks, err := st.decks(ctx, who, settings["showArchived"].(bool))
	if err != nil {
		return homeResult{}, err
	}

	shown := min(len(decks), settings["pageSize"].(int))

	return homeResult{who.tenant, decks[:shown], len(decks), settings}, nil
}

// tray is what the tray shows.
func (st *store) tray(ctx context.Context, who caller) (trayResult, error) {
	decks, err := st.decks(ctx, who, false)
	if err != nil {
		return trayResult{}, err
	}

	recent := []deck{}
	for i := len(decks) - 1; i >= 0 && len(recent) < recentDecks; i-- {
		recent = append(recent, decks[i])
	}

	return trayResult{who.tenant, recent}, nil
}

// pageLink is the tool metadata that names the page of a tool.
func pageLink(uri string) mcp.Meta {
	return mcp.Meta{"ui": map[string]any{"resourceUri": uri}}
}

// addPage registers an embedded page. Pages hold no data, so no tenant is asked.
func (s *Server) addPage(uri, title, file string) {
	text := pageText(file)
	s.mcp.AddResource(&mcp.Resource{
		URI:      uri,
		Name:     strings.TrimSuffix(file, ".html"),
		Title:    title,
		MIMEType: pageType,
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: uri, MIMEType: pageType, Text: text},
		}}, nil
	})
}

// pageText returns an embedded page with its style and scripts put inline: hosts
// let a page load nothing from elsewhere.
func pageText(file string) string {
	return strings.NewReplacer(
		`<link rel="stylesheet" href="style.css">`, "<style>\n"+pageFile("style.css")+"</style>",
		`<script src="bridge.js"></script>`, "<script>\n"+pageFile("bridge.js")+"</script>",
		`<script src="decks.js"></script>`, "<script>\n"+pageFile("decks.js")+"</script>",
		`import { connect } from "client.js";`, page.Module(),
	).Replace(pageFile(file))
}

func pageFile(name string) string {
	text, err := pageFiles.ReadFile("pages/" + name)
	if err != nil {
		panic("workspace: a page was not built in: " + err.Error())
	}

	return string(text)
}
