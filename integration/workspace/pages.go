package workspace

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
)

// pageType is the media type by which hosts know an MCP App page.
const pageType = "text/html;profile=mcp-app"

// recentDecks is how many decks the tray shows.
const recentDecks = 3

//go:embed pages
var pageFiles embed.FS

var (
	schemaHome = object([]property{
		{"tenant", anyText}, {"decks", array(schemaDeckSummary, "")}, {"total", anyNumber}, {"settings", anyObject},
	})
	schemaTray = object([]property{
		{"tenant", anyText},
		{"revision", anyNumber},
		{"activities", array(schemaActivity, "")},
		{"more", one("boolean", "Whether there are activities that are not shown")},
		{"recent", array(schemaDeckSummary, "")},
		{"settings", anyObject},
	})
)

type (
	homeResult struct {
		Tenant   string          `json:"tenant"`
		Decks    []store.Summary `json:"decks"` // the first page, by the caller's settings
		Total    int             `json:"total"` // of all pages
		Settings store.Values    `json:"settings"`
	}
	trayResult struct {
		Tenant     string           `json:"tenant"`
		Revision   int64            `json:"revision"`
		Activities []store.Activity `json:"activities"`
		More       bool             `json:"more"`
		Recent     []store.Summary  `json:"recent"` // newest first
		Settings   store.Values     `json:"settings"`
	}
)

// addPages registers the pages and the tools that open them.
func (s *Server) addPages() {
	s.addPage("ui://workspace/home", "Workspace home", "home.html")
	add(s, "", &mcp.Tool{
		Meta:         pageLink("ui://workspace/home"),
		Name:         "workspace.home",
		Title:        "Workspace",
		Description:  "Opens the workspace with its decks.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaHome,
	}, s.home)

	s.addPage("ui://workspace/tray", "Workspace tray", "tray.html")
	add(s, "", &mcp.Tool{
		Meta:         pageLink("ui://workspace/tray"),
		Name:         "workspace.tray",
		Title:        "Activities",
		Description:  "Opens the proposed activities, for a person to decide on them.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaTray,
	}, s.tray)
}

// home is what the home page shows. A caller without a subject has no settings
// of its own and sees the initial ones.
func (s *Server) home(ctx context.Context, who store.Caller, _ nothing) (homeResult, error) {
	settings, err := s.store.Settings(ctx, who)
	if err != nil {
		return homeResult{}, err
	}

	decks, err := s.store.Decks(ctx, who, settings["showArchived"].(bool))
	if err != nil {
		return homeResult{}, err
	}

	shown := min(len(decks), settings["pageSize"].(int))

	return homeResult{who.Tenant, decks[:shown], len(decks), settings}, nil
}

// tray is what the tray shows.
func (s *Server) tray(ctx context.Context, who store.Caller, _ nothing) (trayResult, error) {
	settings, err := s.store.Settings(ctx, who)
	if err != nil {
		return trayResult{}, err
	}
	activities, err := s.store.Activities(ctx, who, store.Question{})
	if err != nil {
		return trayResult{}, err
	}
	recent, err := s.store.Decks(ctx, who, false)
	if err != nil {
		return trayResult{}, err
	}
	slices.Reverse(recent)

	return trayResult{
		who.Tenant, activities.Revision, activities.Activities, activities.NextCursor != "",
		recent[:min(len(recent), recentDecks)], settings,
	}, nil
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
// let a page load nothing from elsewhere. The client is the one module that a page
// takes from others.
func pageText(file string) string {
	return strings.NewReplacer(
		`<link rel="stylesheet" href="style.css">`, "<style>\n"+pageFile("style.css")+"</style>",
		`<script src="bridge.js"></script>`, "<script>\n"+pageFile("bridge.js")+"</script>",
		`<script src="parts.js"></script>`, "<script>\n"+pageFile("parts.js")+"</script>",
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
