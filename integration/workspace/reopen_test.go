package workspace

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

func TestReopenedFileKeepsDataAndSeedsOnce(t *testing.T) {
	cfg := Config{DSN: filepath.Join(t.TempDir(), "a workspace?#.db")}

	first, endpoint := start(t, cfg)
	c := connect(t, endpoint, eras[1], editor)
	call[valuesResult](t, c, "settings.update", map[string]any{"set": map[string]any{"theme": "dark", "pageSize": 7}})
	call[purgeResult](t, c, "admin.purge_deck", map[string]any{"deckId": "roadmap"})
	made := call[deckResult](t, c, "create_deck", map[string]any{"title": "Kept"}).Deck
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	_, endpoint = start(t, cfg)
	c = connect(t, endpoint, eras[0], editor)
	after := call[settingsResult](t, c, "settings.read", nil).Values
	if after["theme"] != "dark" || after["pageSize"] != 7.0 || after["density"] != "comfortable" {
		t.Errorf("settings after reopening: %v", after)
	}

	decks := call[decksResult](t, c, "list_decks", nil).Decks
	if i := slices.IndexFunc(decks, func(d store.Summary) bool { return d.ID == "roadmap" }); i >= 0 {
		t.Error("a purged seed deck came back")
	}
	if !slices.Contains(decks, made.Summary) {
		t.Errorf("deck %v is not among %v", made, decks)
	}
}
