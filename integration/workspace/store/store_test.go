package store

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
)

var (
	ada = Caller{Tenant: "acme", Subject: "ada"}
	gus = Caller{Tenant: "globex", Subject: "gus"}
)

// open opens a store on a file, or in memory for "", with the recorded relay,
// until the test ends.
func open(t *testing.T, path string) *Store {
	t.Helper()

	posts := httptest.NewServer(relay.Recorded())
	t.Cleanup(posts.Close)
	st, err := Open(t.Context(), path, relay.NewClient(posts.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})

	return st
}

// wantCode checks that an error is a refusal with a code.
func wantCode(t *testing.T, what string, err error, code Code) {
	t.Helper()

	_ = refusalOf(t, what, err, code)
}

// refusalOf is wantCode for those who want to know more of the refusal.
func refusalOf(t *testing.T, what string, err error, code Code) *Error {
	t.Helper()

	refusal, ok := errors.AsType[*Error](err)
	if !ok || refusal.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
		return &Error{}
	}

	return refusal
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}

		return v
	}
}

func TestFullWorkspaceRefusesDecks(t *testing.T) {
	st := open(t, "")
	who := Caller{Tenant: "initech"}
	for range maxDecks {
		if _, err := st.CreateDeck(t.Context(), who, NewDeck{Title: "one of many"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := st.CreateDeck(t.Context(), who, NewDeck{Title: "one too many"})
	wantCode(t, "a full workspace", err, Full)
	if _, err := st.CreateDeck(t.Context(), ada, NewDeck{Title: "another tenant's"}); err != nil {
		t.Errorf("one tenant's full workspace refused another's deck: %v", err)
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.db")
	st := open(t, path)
	if _, err := st.db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, nil); err == nil {
		t.Error("a database of a newer version was opened")
	}
}

// A database of the first version, with decks of its own, gets what came later.
func TestOlderDatabaseIsBroughtUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.db")
	newest := migrations
	migrations = migrations[:1]
	old, err := Open(t.Context(), path, nil)
	migrations = newest
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.db.ExecContext(t.Context(), "UPDATE decks SET title = 'Kept' WHERE id = 'giant-magnet'"); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	st := open(t, path)
	d, err := st.Deck(t.Context(), ada, "giant-magnet")
	if err != nil || d.Title != "Kept" || d.Revision != 1 || d.Columns == nil {
		t.Errorf("the deck is %+v, %v", d, err)
	}
}

func TestFilesAreWrittenSafely(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "w.db"))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000", "foreign_keys": "1"} {
		var got string
		if err := st.db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", pragma, got, err, want)
		}
	}
}

// A writer that gives up must not keep the others waiting.
func TestWaitingWritersCanGiveUp(t *testing.T) {
	st := open(t, "")
	st.writing <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := st.CreateDeck(ctx, ada, NewDeck{Title: "never"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-st.writing
	if _, err := st.CreateDeck(t.Context(), ada, NewDeck{Title: "now"}); err != nil {
		t.Error(err)
	}
}

func TestWholeNumberWithFractionPartIsInteger(t *testing.T) {
	if value, ok := Fields["pageSize"].accept(json.RawMessage(`20.0`)); !ok || value != 20 {
		t.Errorf("20.0 is taken as %v, %v", value, ok)
	}
}

func TestStoredValueThatNoLongerFitsCountsAsUnset(t *testing.T) {
	st := open(t, "")
	initial := must[Values](t)(st.Settings(t.Context(), gus))
	for key, value := range map[string]string{"theme": `"neon"`, "pageSize": `{`, "gone": `1`} {
		_, err := st.db.ExecContext(t.Context(),
			"INSERT INTO settings (tenant, subject, key, value) VALUES (?, ?, ?, ?)", ada.Tenant, ada.Subject, key, value)
		if err != nil {
			t.Fatal(err)
		}
	}

	if got := must[Values](t)(st.Settings(t.Context(), ada)); !maps.Equal(got, initial) {
		t.Errorf("settings are %v, want %v", got, initial)
	}
}
