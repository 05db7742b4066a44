package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
)

func home(title string) ColumnChange {
	return ColumnChange{Title: title, ConnectionID: "acme-main", Source: relay.Source{Kind: relay.Home}}
}

func TestCreatingTheSameDeckAgainMakesNoSecond(t *testing.T) {
	st := open(t, "")
	in := NewDeck{DeckID: "plans", Title: "Plans", Columns: []ColumnChange{home("Home")}}
	first := must[Deck](t)(st.CreateDeck(t.Context(), ada, in))
	changed := must[Deck](t)(st.ReplaceDeck(t.Context(), ada, DeckChange{DeckID: "plans", ExpectedRevision: 1, Title: "Better plans"}))
	again := must[Deck](t)(st.CreateDeck(t.Context(), ada, in))
	if again.Revision != changed.Revision || again.Title != "Better plans" || !again.Created.Equal(first.Created) {
		t.Errorf("asking again gave %+v, want the deck as it is: %+v", again, changed)
	}

	in.Title = "Other plans"
	_, err := st.CreateDeck(t.Context(), ada, in)
	wantCode(t, "another deck of the same id", err, Conflict)
	if d := must[Deck](t)(st.CreateDeck(t.Context(), gus, NewDeck{DeckID: "plans", Title: "Globex plans"})); d.Title != "Globex plans" {
		t.Errorf("another tenant's deck of this id is %+v", d)
	}
	for _, id := range []string{"Plans", "-plans", "pl ans", "../plans", strings.Repeat("a", 65)} {
		_, err := st.CreateDeck(t.Context(), ada, NewDeck{DeckID: id, Title: "x"})
		wantCode(t, "id "+id, err, Invalid)
	}
}

func TestReplacingKeepsTheIdsOfColumns(t *testing.T) {
	st := open(t, "")
	d := must[Deck](t)(st.CreateDeck(t.Context(), ada, NewDeck{Title: "Plans", Columns: []ColumnChange{home("One"), home("Two")}}))

	second := ColumnChange(d.Columns[1])
	second.Title = "Second"
	after := must[Deck](t)(st.ReplaceDeck(t.Context(), ada, DeckChange{
		DeckID: d.ID, ExpectedRevision: 1, Title: "Plans", Columns: []ColumnChange{second, home("Three")}, Archived: new(true),
	}))
	if len(after.Columns) != 2 || after.Columns[0].ID != d.Columns[1].ID || after.Columns[0].Title != "Second" || after.Revision != 2 || !after.Archived {
		t.Errorf("the deck is %+v", after)
	}
	if third := after.Columns[1].ID; third == "" || third == d.Columns[0].ID || third == d.Columns[1].ID {
		t.Errorf("the new column has the id %q", third)
	}
	if read := must[Deck](t)(st.Deck(t.Context(), ada, d.ID)); !slices.Equal(read.Columns, after.Columns) {
		t.Errorf("read back: %+v", read)
	}
}

func TestBadDecksChangeNothing(t *testing.T) {
	st := open(t, "")
	d := must[Deck](t)(st.CreateDeck(t.Context(), ada, NewDeck{Title: "Plans", Columns: []ColumnChange{home("One")}}))
	one := ColumnChange(d.Columns[0])
	elsewhere := home("x")
	elsewhere.ConnectionID = "globex-main"
	source := func(kind, value string) []ColumnChange {
		return []ColumnChange{{Title: "x", ConnectionID: "acme-main", Source: relay.Source{Kind: kind, Value: value}}}
	}

	for name, tt := range map[string]struct {
		change DeckChange
		code   Code
	}{
		"seven columns":         {DeckChange{Columns: slices.Repeat([]ColumnChange{home("x")}, MaxColumns+1)}, Invalid},
		"a column twice":        {DeckChange{Columns: []ColumnChange{one, one}}, Invalid},
		"a foreign column":      {DeckChange{Columns: []ColumnChange{{ID: "skates", Title: "x", ConnectionID: "acme-main", Source: one.Source}}}, Invalid},
		"a foreign connection":  {DeckChange{Columns: []ColumnChange{elsewhere}}, Unknown},
		"an unknown kind":       {DeckChange{Columns: source("notifications", "")}, Invalid},
		"a hashtag with a #":    {DeckChange{Columns: source(relay.Hashtag, "#rockets")}, Invalid},
		"a hashtag of digits":   {DeckChange{Columns: source(relay.Hashtag, "2026")}, Invalid},
		"a hashtag with a path": {DeckChange{Columns: source(relay.Hashtag, "a/../b")}, Invalid},
		"a list without id":     {DeckChange{Columns: source(relay.List, "")}, Invalid},
		"home with a value":     {DeckChange{Columns: source(relay.Home, "x")}, Invalid},
		"two lines":             {DeckChange{Title: "two\nlines"}, Invalid},
		"stale":                 {DeckChange{ExpectedRevision: 2}, Stale},
		"never":                 {DeckChange{ExpectedRevision: -1}, Stale},
		"unknown":               {DeckChange{DeckID: "no-such-deck"}, Unknown},
		"another tenant's":      {DeckChange{DeckID: "hammock-district"}, Unknown},
	} {
		change := tt.change
		if change.Title == "" {
			change.Title = "Changed"
		}
		if change.DeckID == "" {
			change.DeckID = d.ID
		}
		if change.ExpectedRevision == 0 {
			change.ExpectedRevision = 1
		}
		_, err := st.ReplaceDeck(t.Context(), ada, change)
		refusal := refusalOf(t, name, err, tt.code)
		if tt.code == Stale && (refusal.Revision == nil || *refusal.Revision != 1) {
			t.Errorf("%s: the newest revision is not told: %+v", name, refusal)
		}
		if after := must[Deck](t)(st.Deck(t.Context(), ada, d.ID)); after.Summary != d.Summary || !slices.Equal(after.Columns, d.Columns) {
			t.Errorf("%s: the deck is %+v now", name, after)
		}
	}
	if d := must[Deck](t)(st.CreateDeck(t.Context(), ada, NewDeck{Title: "x", Columns: source(relay.Hashtag, "ロケット_1")})); len(d.Columns) != 1 {
		t.Errorf("a hashtag of another script gave %+v", d)
	}
}

func TestDeletingNeedsTheRevisionThatIsThere(t *testing.T) {
	st := open(t, "")
	err := st.DeleteDeck(t.Context(), ada, "roadmap", 2)
	wantCode(t, "stale", err, Stale)
	wantCode(t, "another tenant's", st.DeleteDeck(t.Context(), ada, "hammock-district", 1), Unknown)
	if err := st.DeleteDeck(t.Context(), ada, "roadmap", 1); err != nil {
		t.Fatal(err)
	}
	_, err = st.Deck(t.Context(), ada, "roadmap")
	wantCode(t, "deleted", err, Unknown)
	if d := must[Deck](t)(st.Deck(t.Context(), gus, "roadmap")); !strings.HasPrefix(d.Title, "Globex") {
		t.Errorf("the other tenant's deck is %+v", d)
	}
}

// Of all who replace what they read, one wins each time, and no change is lost
// without its author being told.
func TestParallelReplacesLoseNothing(t *testing.T) {
	inBoth(t, func(t *testing.T, st *Store) {
		d := must[Deck](t)(st.CreateDeck(t.Context(), ada, NewDeck{Title: "start"}))
		var wins, stales atomic.Int64
		turns := make(chan struct{}, 8) // for those who were stale: all of them again and again takes long
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				waited := false
				for {
					seen, err := st.Deck(t.Context(), ada, d.ID)
					if err != nil {
						t.Error(err)
						return
					}
					_, err = st.ReplaceDeck(t.Context(), ada, DeckChange{
						DeckID: d.ID, ExpectedRevision: seen.Revision, Title: fmt.Sprintf("%s %d", seen.Title, i),
						Columns: []ColumnChange{home("x")},
					})
					if err == nil {
						wins.Add(1)
						return
					}
					if refusalOf(t, "replace", err, Stale).Code != Stale {
						return
					}
					if stales.Add(1); seen.Revision > 60 {
						return // titles have an end
					}
					if !waited {
						waited = true
						turns <- struct{}{}
						defer func() { <-turns }()
					}
				}
			})
		}
		all.Wait()

		after := must[Deck](t)(st.Deck(t.Context(), ada, d.ID))
		words := strings.Fields(after.Title)
		if after.Revision != wins.Load()+1 || int64(len(words)) != wins.Load()+1 {
			t.Errorf("%d replaces succeeded; the revision is %d and the title %q", wins.Load(), after.Revision, after.Title)
		}
		slices.Sort(words)
		if len(slices.Compact(words)) != int(wins.Load())+1 {
			t.Errorf("a change is there twice: %q", after.Title)
		}
		if wins.Load() < 50 || stales.Load() == 0 {
			t.Errorf("%d succeeded and %d were stale: nothing was tested", wins.Load(), stales.Load())
		}
	})
}
