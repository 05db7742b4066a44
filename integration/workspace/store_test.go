package workspace

import (
	"path/filepath"
	"slices"
	"testing"
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
	if i := slices.IndexFunc(decks, func(d deck) bool { return d.ID == "roadmap" }); i >= 0 {
		t.Error("a purged seed deck came back")
	}
	if !slices.Contains(decks, made) {
		t.Errorf("deck %v is not among %v", made, decks)
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	cfg := Config{DSN: filepath.Join(t.TempDir(), "w.db")}
	s, _ := start(t, cfg)
	if _, err := s.store.db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg); err == nil {
		t.Error("a database of a newer version was opened")
	}
}
