package workspace

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

func TestNavigateFindsPlaces(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		for url, deckID := range map[string]string{
			"/":                              "",
			"/?tab=recent":                   "",
			"/decks/roadmap":                 "roadmap",
			"/decks/rocket-skates?slide=3":   "rocket-skates",
			"/decks/rocket%2Dskates?q=%2F..": "rocket-skates",
			"/decks/earthquake-pills":        "earthquake-pills", // archived, but its link lives
		} {
			got := call[store.Place](t, c, "workspace.navigate", map[string]any{"url": url})
			switch {
			case got.URL != url:
				t.Errorf("%s came back as %s", url, got.URL)
			case deckID == "" && (got.View != "home" || got.Deck != nil):
				t.Errorf("%s is %+v, want home", url, got)
			case deckID != "" && (got.View != "deck" || got.Deck == nil || got.Deck.ID != deckID):
				t.Errorf("%s is %+v, want deck %s", url, got, deckID)
			}
		}
	})
}

// A refusal that differed would tell that the other tenant's deck exists.
func TestNavigateRefusesForeignDecksLikeUnknownOnes(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			_, endpoint := start(t, Config{})
			acme, other := connect(t, endpoint, era, editor), connect(t, endpoint, era, globex)

			unknown := refused(t, acme, "workspace.navigate", map[string]any{"url": "/decks/no-such-deck"})
			foreign := refused(t, acme, "workspace.navigate", map[string]any{"url": "/decks/hammock-district"})
			if unknown != foreign {
				t.Errorf("a foreign deck answers %q, an unknown one %q", foreign, unknown)
			}

			// An id both tenants use leads each to its own deck.
			for who, c := range map[string]*mcp.ClientSession{"Acme": acme, "Globex": other} {
				got := call[store.Place](t, c, "workspace.navigate", map[string]any{"url": "/decks/roadmap"})
				if !strings.HasPrefix(got.Deck.Title, who) {
					t.Errorf("%s was led to %q", who, got.Deck.Title)
				}
			}
		})
	}
}

func TestNavigateRefusesOtherURLs(t *testing.T) {
	s, _ := start(t, Config{})
	for _, url := range []string{
		"", "decks/roadmap", "//evil.example/decks/roadmap", "https://evil.example/", "/\\evil.example",
		"/decks/roadmap#slide", "/decks/../decks/roadmap", "/decks/..", "/decks/%2e%2e", "/decks/", "/decks",
		"/decks/roadmap/", "/decks/roadmap/slides", "/decks/a%2Froadmap", "/decks/%zz", "/settings",
		"/decks/road\nmap", "/decks/" + strings.Repeat("a", store.MaxURL),
	} {
		if got, err := s.store.Resolve(t.Context(), editor, url); err == nil {
			t.Errorf("%q led to %+v", url, got)
		}
	}
}
