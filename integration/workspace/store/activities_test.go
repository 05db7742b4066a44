package store

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// inBoth runs a test on a file and in memory.
func inBoth(t *testing.T, test func(t *testing.T, st *Store)) {
	t.Helper()
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "w.db"), "memory": ""} {
		t.Run(name, func(t *testing.T) { test(t, open(t, path)) })
	}
}

// proposal is a publication of one activity.
func proposal(requestID string, revision int64, activityID, text string) Publication {
	return Publication{requestID, revision, []NewProposal{{ActivityID: activityID, ConnectionID: "acme-main", Text: text}}}
}

func context1(t *testing.T, st *Store, id string) (int64, Activity) {
	t.Helper()
	c := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{ActivityIDs: []string{id}}))
	if len(c.Activities) != 1 {
		t.Fatalf("activity %s: %+v", id, c)
	}

	return c.Revision, c.Activities[0]
}

func TestTheSamePublicationGetsTheSameReceipt(t *testing.T) {
	st := open(t, "")
	p := proposal("r1", 1, "a", "  First  ")
	first := must[Receipt](t)(st.Publish(t.Context(), ada, p))
	if first.Revision != 2 || !slices.Equal(first.Created, []string{"a"}) {
		t.Fatalf("receipt %+v", first)
	}
	must[Receipt](t)(st.Publish(t.Context(), ada, proposal("r2", 2, "a", "Second")))

	// By now the revision it expects is stale, and there is another text.
	if again := must[Receipt](t)(st.Publish(t.Context(), ada, p)); !reflect.DeepEqual(again, first) {
		t.Errorf("again: %+v, want %+v", again, first)
	}
	revision, a := context1(t, st, "a")
	if revision != 3 || a.Proposal.Text != "Second" {
		t.Errorf("asking again changed something: %d %+v", revision, a)
	}

	_, err := st.Publish(t.Context(), ada, proposal("r1", 3, "a", "Third"))
	wantCode(t, "another publication of the same id", err, Conflict)
	if r := must[Receipt](t)(st.Publish(t.Context(), gus, Publication{"r1", 1, []NewProposal{{ActivityID: "a", ConnectionID: "globex-main", Text: "Globex"}}})); r.Revision != 2 {
		t.Errorf("another tenant's publication of this id: %+v", r)
	}
}

func TestBadPublicationsChangeNothing(t *testing.T) {
	st := open(t, "")
	before := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{}))
	good := NewProposal{ActivityID: "good", ConnectionID: "acme-main", Text: "Good"}
	second := func(p NewProposal) Publication { return Publication{"r", 1, []NewProposal{good, p}} }

	for name, tt := range map[string]struct {
		publication Publication
		code        Code
	}{
		"stale":                  {Publication{"r", 0, []NewProposal{good}}, Stale},
		"of the future":          {Publication{"r", 2, []NewProposal{good}}, Stale},
		"nothing":                {Publication{"r", 1, nil}, Invalid},
		"too much":               {Publication{"r", 1, slices.Repeat([]NewProposal{good}, MaxPublished+1)}, Invalid},
		"no request id":          {Publication{"", 1, []NewProposal{good}}, Invalid},
		"an activity twice":      {second(good), Invalid},
		"a bad id":               {second(NewProposal{ActivityID: "a b", ConnectionID: "acme-main", Text: "x"}), Invalid},
		"no text":                {second(NewProposal{ActivityID: "b", ConnectionID: "acme-main", Text: " \n "}), Invalid},
		"a long text":            {second(NewProposal{ActivityID: "b", ConnectionID: "acme-main", Text: strings.Repeat("é", MaxText+1)}), Invalid},
		"control characters":     {second(NewProposal{ActivityID: "b", ConnectionID: "acme-main", Text: "a\x1bb"}), Invalid},
		"a bad hashtag":          {second(NewProposal{ActivityID: "b", ConnectionID: "acme-main", Text: "x", Hashtags: []string{"a b"}}), Invalid},
		"a hashtag twice":        {second(NewProposal{ActivityID: "b", ConnectionID: "acme-main", Text: "x", Hashtags: []string{"Ab", "aB"}}), Invalid},
		"another's connection":   {second(NewProposal{ActivityID: "b", ConnectionID: "globex-main", Text: "x"}), Unknown},
		"an unknown connection":  {second(NewProposal{ActivityID: "b", ConnectionID: "none", Text: "x"}), Unknown},
		"known and unknown ones": {Publication{"r", 1, []NewProposal{{ActivityID: "launch-note", ConnectionID: "acme-main", Text: "x"}, {ActivityID: "c", ConnectionID: "none", Text: "x"}}}, Unknown},
	} {
		_, err := st.Publish(t.Context(), ada, tt.publication)
		refusal := refusalOf(t, name, err, tt.code)
		if tt.code == Stale && (refusal.Revision == nil || *refusal.Revision != 1) {
			t.Errorf("%s: the newest revision is not told: %+v", name, refusal)
		}
		if after := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{})); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: there is %+v now", name, after)
		}
	}
	if _, err := st.Publish(t.Context(), ada, Publication{"r", 1, []NewProposal{good}}); err != nil {
		t.Errorf("the request id of refused publications is used up: %v", err)
	}
}

func TestDecisionsOutliveNewProposals(t *testing.T) {
	for _, tt := range []struct {
		deed      Deed
		verdict   string
		effective string // afterwards, of a new proposal
	}{
		{Deed{Action: Accept}, Accepted, "Old"},
		{Deed{Action: Reject}, Rejected, ""},
		{Deed{Action: Edit, Text: "Mine", Hashtags: []string{"own"}}, Edited, "Mine"},
	} {
		st := open(t, "")
		must[Receipt](t)(st.Publish(t.Context(), ada, proposal("r1", 1, "a", "Old")))
		tt.deed.ActivityID, tt.deed.ExpectedRevision = "a", 2
		decided := must[Activity](t)(st.Decide(t.Context(), ada, tt.deed))
		if decided.Decision.Verdict != tt.verdict || decided.Decision.By != "ada" || decided.Revision != 3 {
			t.Errorf("%s: decided %+v", tt.deed.Action, decided)
		}

		// Whoever has not seen the decision cannot publish over it.
		_, err := st.Publish(t.Context(), ada, proposal("r2", 2, "a", "New"))
		wantCode(t, tt.deed.Action, err, Stale)
		must[Receipt](t)(st.Publish(t.Context(), ada, proposal("r2", 3, "a", "New")))

		_, a := context1(t, st, "a")
		effective := ""
		if a.Effective != nil {
			effective = a.Effective.Text
		}
		if a.Proposal.Text != "New" || a.Decision == nil || a.Decision.Verdict != tt.verdict || effective != tt.effective {
			t.Errorf("%s: after a new proposal %+v, in effect %q, want %q", tt.deed.Action, a, effective, tt.effective)
		}

		a = must[Activity](t)(st.Decide(t.Context(), ada, Deed{ActivityID: "a", ExpectedRevision: a.Revision, Action: Reopen}))
		if a.Decision != nil || a.Effective.Text != "New" {
			t.Errorf("%s: reopened %+v", tt.deed.Action, a)
		}
	}
}

func TestDecisionsNeedAPersonWhoSawTheNewest(t *testing.T) {
	st := open(t, "")
	deed := Deed{ActivityID: "launch-note", ExpectedRevision: 1, Action: Accept}
	_, err := st.Decide(t.Context(), Caller{Tenant: "acme"}, deed)
	wantCode(t, "nobody", err, NoSubject)
	_, err = st.Decide(t.Context(), gus, deed)
	wantCode(t, "another tenant", err, Unknown)
	must[Activity](t)(st.Decide(t.Context(), ada, deed))
	_, err = st.Decide(t.Context(), ada, deed)
	wantCode(t, "a decision on what was decided meanwhile", err, Stale)
	_, err = st.Decide(t.Context(), ada, Deed{ActivityID: "launch-note", ExpectedRevision: 2, Action: "publish"})
	wantCode(t, "an unknown action", err, Invalid)
	_, err = st.Decide(t.Context(), ada, Deed{ActivityID: "launch-note", ExpectedRevision: 2, Action: Edit})
	wantCode(t, "an edit without a text", err, Invalid)
}

func TestContextComesInPagesAndByID(t *testing.T) {
	st := open(t, "")
	p := Publication{"r", 1, nil}
	var want []string
	for i := range 45 {
		id := fmt.Sprintf("a%02d", 44-i) // the order is that of publication, not of ids
		want = append(want, id)
		p.Activities = append(p.Activities, NewProposal{ActivityID: id, ConnectionID: "acme-main", Text: id})
	}
	must[Receipt](t)(st.Publish(t.Context(), ada, p))
	want = append([]string{"launch-note", "magnet-thanks"}, want...)

	var got []string
	q := Question{Limit: 20}
	for {
		c := must[ActivityContext](t)(st.Activities(t.Context(), ada, q))
		for _, a := range c.Activities {
			got = append(got, a.ID)
		}
		if q.Cursor = c.NextCursor; q.Cursor == "" {
			break
		}
		if len(c.Activities) != 20 {
			t.Fatalf("a page holds %d", len(c.Activities))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages hold %q, want %q", got, want)
	}

	c := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{ActivityIDs: []string{"a03", "nope", "hammock-vote", "launch-note"}}))
	if len(c.Activities) != 2 || len(c.Unknown) != 2 {
		t.Errorf("by id: %+v", c)
	}
	if c := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{ActivityIDs: []string{}})); len(c.Activities) != 0 {
		t.Errorf("of no ids: %+v", c)
	}
	cursor := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{Limit: 1})).NextCursor
	_, err := st.Activities(t.Context(), gus, Question{Cursor: cursor})
	wantCode(t, "another tenant's cursor", err, BadCursor)
	_, err = st.Activities(t.Context(), ada, Question{Limit: MaxPage + 1})
	wantCode(t, "too many", err, Invalid)
}

// A hundred publishers at once: each of them publishes once, however often it
// asks, and each change of the revision is one publication.
func TestParallelPublicationsAreAllKeptOnce(t *testing.T) {
	inBoth(t, func(t *testing.T, st *Store) {
		var stales atomic.Int64
		receipts := make([]Receipt, 100)
		turns := make(chan struct{}, 8) // for those who were stale: all of them again and again takes long
		var all sync.WaitGroup
		for i := range receipts {
			all.Go(func() {
				id := fmt.Sprintf("a%d", i)
				waited := false
				for {
					c, err := st.Activities(t.Context(), ada, Question{Limit: 1})
					if err != nil {
						t.Error(err)
						return
					}
					p := proposal(fmt.Sprintf("r%d-%d", i, c.Revision), c.Revision, id, id)

					// Two ask for the same at once, as a client does that lost an answer.
					var twin Receipt
					var twinErr error
					var both sync.WaitGroup
					both.Go(func() { twin, twinErr = st.Publish(t.Context(), ada, p) })
					receipts[i], err = st.Publish(t.Context(), ada, p)
					both.Wait()
					if err != nil {
						wantCode(t, "publish", err, Stale)
						wantCode(t, "its twin", twinErr, Stale)
						if stales.Add(1); !waited {
							waited = true
							turns <- struct{}{}
							defer func() { <-turns }()
						}
						continue
					}
					if twinErr != nil || !reflect.DeepEqual(twin, receipts[i]) {
						t.Errorf("twins got %+v and %+v, %v", receipts[i], twin, twinErr)
					}
					return
				}
			})
		}
		all.Wait()

		seen := make(map[int64]bool)
		for _, r := range receipts {
			if len(r.Created) != 1 || seen[r.Revision] {
				t.Errorf("receipt %+v, its revision was given before: %t", r, seen[r.Revision])
			}
			seen[r.Revision] = true
		}
		c := must[ActivityContext](t)(st.Activities(t.Context(), ada, Question{Limit: MaxPage}))
		if c.Revision != 101 || len(c.Activities) != MaxPage || c.NextCursor == "" {
			t.Errorf("revision %d with %d activities, more: %t", c.Revision, len(c.Activities), c.NextCursor != "")
		}
		if stales.Load() == 0 {
			t.Error("nobody was ever stale: nothing was tested")
		}
	})
}

func TestOldReceiptsAreForgottenSafely(t *testing.T) {
	st := open(t, "")
	first := proposal("first", 1, "a", "0")
	must[Receipt](t)(st.Publish(t.Context(), ada, first))
	if again := must[Receipt](t)(st.Publish(t.Context(), ada, first)); again.Revision != 2 {
		t.Errorf("a kept receipt: %+v", again)
	}
	// As if a thousand others had been published since.
	if _, err := st.db.ExecContext(t.Context(), "UPDATE heads SET revision = ? WHERE tenant = 'acme'", keptReceipts+1); err != nil {
		t.Fatal(err)
	}
	must[Receipt](t)(st.Publish(t.Context(), ada, proposal("last", keptReceipts+1, "a", "last")))
	_, err := st.Publish(t.Context(), ada, first)
	wantCode(t, "a forgotten publication", err, Stale)
}
