package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// What a person can do with a proposal.
const (
	Accept = "accept"
	Reject = "reject"
	Edit   = "edit"   // accept another content
	Reopen = "reopen" // take the decision back
)

// Deed is what a person does with a proposal that they saw at a revision.
type Deed struct {
	ActivityID       string   `json:"activityId"`
	ExpectedRevision int64    `json:"expectedRevision"` // of the activity
	Action           string   `json:"action"`
	Text             string   `json:"text"`     // to edit
	Hashtags         []string `json:"hashtags"` // to edit
}

// Decide keeps what a person decided. Publishers who have not seen it are stale.
func (st *Store) Decide(ctx context.Context, who Caller, deed Deed) (a Activity, err error) {
	by, err := who.Person()
	if err != nil {
		return Activity{}, err
	}

	decision := &Decision{By: by, At: time.Now().UTC().Truncate(time.Millisecond)}
	switch deed.Action {
	case Accept:
		decision.Verdict = Accepted
	case Reject:
		decision.Verdict = Rejected
	case Edit:
		content, err := checkContent(Content{deed.Text, deed.Hashtags})
		if err != nil {
			return Activity{}, err
		}
		decision.Verdict, decision.Content = Edited, &content
	case Reopen:
		decision = nil
	default:
		return Activity{}, refuse(Invalid, "unknown action %q", deed.Action)
	}

	err = st.write(ctx, who.Tenant, func(tx *sql.Tx) error {
		a, err = readActivity(ctx, tx, who, deed.ActivityID)
		switch {
		case err != nil:
			return err
		case a.Revision != deed.ExpectedRevision:
			return stale("the activity", a.Revision)
		}
		newest, err := head(ctx, tx, who.Tenant)
		if err != nil {
			return err
		}

		var kept any // NULL if there is no decision any more
		if decision != nil {
			if decision.Verdict == Accepted {
				decision.Content = &a.Proposal.Content // and not what is proposed later
			}
			kept = encode(decision)
		}
		_, err = tx.ExecContext(ctx, "UPDATE activities SET decision = ?, revision = ? WHERE tenant = ? AND id = ?",
			kept, newest+1, who.Tenant, a.ID)
		if err != nil {
			return fmt.Errorf("keeping decision: %w", err)
		}
		if err := moveHead(ctx, tx, who.Tenant, newest+1); err != nil {
			return err
		}
		a, err = readActivity(ctx, tx, who, a.ID)

		return err
	})
	if err != nil {
		return Activity{}, err
	}

	return a, nil
}
