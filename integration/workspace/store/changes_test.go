package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// witness keeps what a watcher is told, and ends after some events.
type witness struct {
	snapshots []Snapshot
	changes   []Change
	enough    func(*witness) bool
	began     chan struct{} // closed by the first snapshot
}

var errEnough = errors.New("seen enough")

func (w *witness) Snapshot(s Snapshot) error {
	if w.snapshots = append(w.snapshots, s); len(w.snapshots) == 1 {
		close(w.began)
	}

	return w.done()
}

func (w *witness) Change(c Change) error {
	w.changes = append(w.changes, c)

	return w.done()
}

func (w *witness) Idle() error { return nil }

func (w *witness) done() error {
	if w.enough(w) {
		return errEnough
	}

	return nil
}

// watch watches until enough is seen, and returns a function that waits for it.
func watch(t *testing.T, st *Store, who Caller, last int64, enough func(*witness) bool) (w *witness, wait func()) {
	t.Helper()

	w = &witness{enough: enough, began: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- st.Watch(ctx, who, last, w) }()
	<-w.began

	return w, func() {
		t.Helper()
		defer cancel()
		if err := <-ended; !errors.Is(err, errEnough) {
			t.Errorf("watching ended with %v after %+v", err, w.changes)
		}
	}
}

func TestWatchersHearEveryCommittedChangeOfTheirTenantOnce(t *testing.T) {
	inBoth(t, func(t *testing.T, st *Store) {
		const decks = 30
		w, wait := watch(t, st, ada, -1, func(w *witness) bool { return len(w.changes) == decks+3 })
		if s := w.snapshots[0]; s.Seq != 0 || s.Missed != 0 || s.Activities != 1 || len(s.Decks) != 4 {
			t.Errorf("snapshot %+v", s)
		}

		for i := range decks {
			must[Deck](t)(st.CreateDeck(t.Context(), ada, NewDeck{DeckID: fmt.Sprintf("d%d", i), Title: "x"}))
			must[Deck](t)(st.CreateDeck(t.Context(), gus, NewDeck{Title: "not for acme"}))
		}
		if _, err := st.ReplaceDeck(t.Context(), ada, DeckChange{DeckID: "d0", ExpectedRevision: 7, Title: "refused"}); err == nil {
			t.Error("a stale replace succeeded")
		}
		must[Receipt](t)(st.Publish(t.Context(), ada, proposal("r", 1, "a", "x")))
		must[Receipt](t)(st.Publish(t.Context(), ada, proposal("r", 1, "a", "x"))) // changes nothing
		must[Values](t)(st.UpdateSettings(t.Context(), Caller{"acme", "vic"}, map[string]json.RawMessage{"theme": json.RawMessage(`"dark"`)}))
		must[Values](t)(st.UpdateSettings(t.Context(), ada, map[string]json.RawMessage{"theme": json.RawMessage(`"dark"`)}))
		if err := st.DeleteDeck(t.Context(), ada, "d0", 1); err != nil {
			t.Error(err)
		}
		wait()

		var last int64
		for i, c := range w.changes {
			if c.Seq <= last {
				t.Errorf("change %+v after %d", c, last)
			}
			last = c.Seq
			if i < decks && (c.Kind != "deck" || c.ID != fmt.Sprintf("d%d", i) || c.Revision != 1) {
				t.Errorf("change %d is %+v", i, c)
			}
		}
		rest := fmt.Sprint(w.changes[decks:])
		if want := fmt.Sprintf("[{%d activities  2} {%d settings  0} {%d deck d0 0}]", decks+1, decks+3, decks+4); rest != want {
			t.Errorf("the others are %s, want %s", rest, want)
		}
	})
}

func TestWhoeverComesBackLearnsHowMuchWasMissed(t *testing.T) {
	st := open(t, "")
	for range 5 {
		must[Deck](t)(st.CreateDeck(t.Context(), ada, NewDeck{Title: "x"}))
	}
	for last, missed := range map[int64]int64{-1: 0, 0: 5, 3: 2, 5: 0, 99: 0} {
		w, wait := watch(t, st, ada, last, func(*witness) bool { return true })
		wait()
		if s := w.snapshots[0]; s.Seq != 5 || s.Missed != missed || len(s.Decks) != 9 {
			t.Errorf("after %d: %+v, want %d missed", last, s, missed)
		}
	}
}

// A second process on the same file rings no bell here.
func TestChangesOfOtherProcessesAreHeardToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.db")
	here, there := open(t, path), open(t, path)
	w, wait := watch(t, here, ada, -1, func(w *witness) bool { return len(w.changes) == 1 })
	must[Deck](t)(there.CreateDeck(t.Context(), ada, NewDeck{DeckID: "far", Title: "x"}))
	wait()
	if w.changes[0].ID != "far" {
		t.Errorf("heard %+v", w.changes)
	}
}

func TestTheJournalIsBoundedAndASlowWatcherGetsASnapshot(t *testing.T) {
	st := open(t, "")
	w := &witness{enough: func(w *witness) bool { return len(w.snapshots) == 2 }, began: make(chan struct{})}
	entered, goOn := make(chan struct{}), make(chan struct{})
	slow := &slowWitness{w, entered, goOn}
	ended := make(chan error, 1)
	go func() { ended <- st.Watch(t.Context(), ada, -1, slow) }()
	<-entered
	must[Deck](t)(st.CreateDeck(t.Context(), ada, NewDeck{DeckID: "busy", Title: "x"}))
	for i := range int64(keptChanges + 10) {
		must[Deck](t)(st.ReplaceDeck(t.Context(), ada, DeckChange{DeckID: "busy", ExpectedRevision: i + 1, Title: "x"}))
	}
	close(goOn)
	if err := <-ended; !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if len(w.changes) != 0 || w.snapshots[1].Missed != keptChanges+11 {
		t.Errorf("%d changes, snapshots %+v", len(w.changes), w.snapshots[1])
	}
	var kept int
	if err := st.db.QueryRowContext(t.Context(), "SELECT count(*) FROM changes WHERE tenant = 'acme'").Scan(&kept); err != nil || kept != keptChanges {
		t.Errorf("%d changes kept, %v", kept, err)
	}
}

// slowWitness takes long over its first snapshot.
type slowWitness struct {
	*witness
	entered, goOn chan struct{}
}

func (w *slowWitness) Snapshot(s Snapshot) error {
	if len(w.snapshots) == 0 {
		close(w.entered)
		<-w.goOn
	}

	return w.witness.Snapshot(s)
}
