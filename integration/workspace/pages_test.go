package workspace

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/page"
)

func TestPagesFollowSettings(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		home := call[homeResult](t, c, "workspace.home", nil)
		if len(home.Decks) != 3 || home.Total != 3 || home.Tenant != "acme" {
			t.Errorf("home shows %+v", home)
		}

		call[valuesResult](t, c, "settings.update", map[string]any{
			"set": map[string]any{"showArchived": true, "pageSize": 2},
		})
		home = call[homeResult](t, c, "workspace.home", map[string]any{})
		if len(home.Decks) != 2 || home.Total != 4 {
			t.Errorf("home shows %d of %d decks, want 2 of 4", len(home.Decks), home.Total)
		}

		call[deckResult](t, c, "create_deck", map[string]any{"title": "Newest"})
		tray := call[trayResult](t, c, "workspace.tray", map[string]any{})
		if len(tray.Recent) != recentDecks || tray.Recent[0].Title != "Newest" {
			t.Errorf("tray shows %+v", tray.Recent)
		}
	})
}

// Pages run in a frame that may load nothing, so they must carry everything.
func TestPagesAreSelfContained(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		pages := 0
		for _, tool := range tools.Tools {
			ui, _ := tool.Meta["ui"].(map[string]any)
			uri, ok := ui["resourceUri"].(string)
			if !ok {
				continue // no page, or a tool for one
			}
			pages++

			res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			content := res.Contents[0]
			if content.URI != uri || content.MIMEType != "text/html;profile=mcp-app" {
				t.Errorf("page is %s of type %s", content.URI, content.MIMEType)
			}
			for _, part := range []string{"<!doctype html>", `lang="en"`, `"ui/initialize"`, "ui/notifications/initialized", "color-scheme"} {
				if !strings.Contains(content.Text, part) {
					t.Errorf("page %s lacks %s", uri, part)
				}
			}
			own := strings.Replace(content.Text, page.Module(), "", 1)
			for _, part := range []string{"src=", "<link", "http:", "https:", "innerHTML", "import"} {
				if strings.Contains(own, part) {
					t.Errorf("page %s holds %s", uri, part)
				}
			}
		}
		if pages != 2 {
			t.Errorf("%d tools have pages, want 2", pages)
		}
	})
}

// The home page is one that nobody changed for the proxy; the tray brings the
// page client itself.
func TestOnlyTheTrayBringsThePageClient(t *testing.T) {
	for file, want := range map[string]bool{"home.html": false, "tray.html": true} {
		if got := strings.Contains(pageText(file), page.Module()); got != want {
			t.Errorf("%s brings the page client: %t, want %t", file, got, want)
		}
		if strings.Contains(pageFile(file)+pageFile("bridge.js")+pageFile("parts.js"), "mcp-app") {
			t.Errorf("%s knows of the proxy", file)
		}
	}
}
