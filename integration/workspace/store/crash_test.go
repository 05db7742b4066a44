package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// crashing is where the database of the process is that will be killed.
const crashing = "WORKSPACE_CRASHING_DATABASE"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashing); path != "" {
		if err := writeUntilKilled(path); err != nil {
			fmt.Println("error", err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeUntilKilled publishes and replaces in parallel and prints each answer
// after it has it.
func writeUntilKilled(path string) error {
	ctx := context.Background()
	st, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	deck, err := st.CreateDeck(ctx, ada, NewDeck{DeckID: "diary", Title: "x"})
	if err != nil {
		return err
	}

	var mu sync.Mutex
	say := func(format string, a ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", a...)
	}
	var all sync.WaitGroup
	for writer := range 8 {
		all.Go(func() {
			for {
				c, err := st.Activities(ctx, ada, Question{Limit: 1})
				if err != nil {
					return
				}
				id := fmt.Sprintf("w%d-%d", writer, c.Revision)
				if r, err := st.Publish(ctx, ada, proposal(id, c.Revision, id, id)); err == nil {
					say("published %s %d", id, r.Revision)
				}
			}
		})
	}
	all.Go(func() {
		for revision := deck.Revision; ; revision++ {
			d, err := st.ReplaceDeck(ctx, ada, DeckChange{DeckID: "diary", ExpectedRevision: revision, Title: fmt.Sprint("after ", revision)})
			if err != nil {
				say("error %v", err)
				return
			}
			say("replaced diary %d", d.Revision)
		}
	})
	all.Wait()

	return nil
}

// The process is killed while it writes. What it had answered is there, whole and
// once, and asking again gets the same answer; what it had not answered is there
// as a whole or not at all.
func TestNothingIsLostOrDoubledByACrash(t *testing.T) {
	for round := range 3 {
		path := filepath.Join(t.TempDir(), "w.db")
		answered, replaced := runAndKill(t, path, 40+round*37)

		st := open(t, path)
		c := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{Limit: 1}))
		var activities, receipts, positions int64
		for query, into := range map[string]*int64{
			"SELECT count(*) FROM activities WHERE tenant = 'acme' AND id LIKE 'w%'": &activities,
			"SELECT count(*) FROM receipts WHERE tenant = 'acme'":                    &receipts,
			"SELECT max(position) FROM activities WHERE tenant = 'acme'":             &positions,
		} {
			if err := st.db.QueryRowContext(t.Context(), query).Scan(into); err != nil {
				t.Fatal(err)
			}
		}
		// Each publication is one revision, one activity and one receipt.
		if activities != c.Revision-1 || receipts != activities || positions != activities+2 {
			t.Errorf("revision %d, %d activities, %d receipts, last position %d", c.Revision, activities, receipts, positions)
		}
		if extra := activities - int64(len(answered)); extra < 0 || extra > 8 {
			t.Errorf("%d publications were answered and %d are there", len(answered), activities)
		}
		for id, revision := range answered {
			_, seen, _ := strings.Cut(id, "-")
			expected, err := strconv.ParseInt(seen, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			again, err := st.Publish(t.Context(), ada, proposal(id, expected, id, id))
			if err != nil || again.Revision != revision || len(again.Created) != 1 {
				t.Errorf("%s was answered with revision %d; asked again: %+v, %v", id, revision, again, err)
			}
		}
		if after := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{Limit: 1})); after.Revision != c.Revision {
			t.Errorf("asking again moved the revision from %d to %d", c.Revision, after.Revision)
		}

		d := must[Deck](t)(st.Deck(t.Context(), ada, "diary"))
		if d.Revision < replaced || d.Revision > replaced+1 || d.Title != fmt.Sprint("after ", d.Revision-1) {
			t.Errorf("revision %d of the deck was answered; it is %+v", replaced, d)
		}
		var check string
		if err := st.db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
			t.Errorf("the database is %q, %v", check, err)
		}
	}
}

// runAndKill runs the writing process until it has given some answers, kills it,
// and returns all answers: revisions of publications by id, and of the deck.
func runAndKill(t *testing.T, path string, answers int) (published map[string]int64, replaced int64) {
	t.Helper()

	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), crashing+"="+path)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}

	published = make(map[string]int64)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var what, id string
		var revision int64
		if _, err := fmt.Sscan(lines.Text(), &what, &id, &revision); err != nil {
			t.Fatalf("the process says %q", lines.Text())
		}
		switch what {
		case "published":
			published[id] = revision
		case "replaced":
			replaced = revision
		}
		if answers--; answers == 0 {
			if err := process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := process.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
	if len(published) == 0 || replaced == 0 {
		t.Fatalf("answered: %d publications, deck at %d", len(published), replaced)
	}

	return published, replaced
}
