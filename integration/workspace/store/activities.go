package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Bounds of what is asked for and answered.
const (
	MaxIDs         = 100 // activity ids in one question
	MaxPage        = 100 // activities in one answer
	defaultPage    = 20
	MaxText        = 500 // characters of a post's text
	MaxNote        = 300 // characters of a proposal's note
	MaxHashtags    = 10
	MaxActivityID  = 64 // characters
	maxActivities  = 5000
	ActivityIDRule = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$"
)

// Content is what would be posted.
type Content struct {
	Text     string   `json:"text"`
	Hashtags []string `json:"hashtags"`
}

// Proposal is what was proposed last.
type Proposal struct {
	Content
	ConnectionID string `json:"connectionId"`      // where it would be posted
	ReplyTo      string `json:"replyTo,omitempty"` // id of a post
	Note         string `json:"note,omitempty"`    // why, for the person who decides
}

// The verdicts of people.
const (
	Accepted = "accepted"
	Rejected = "rejected"
	Edited   = "edited"
)

// Decision is what a person decided. It outlives new proposals.
type Decision struct {
	Verdict string    `json:"verdict"` // accepted, rejected or edited
	Content *Content  `json:"content,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// Activity is one activity with all that is known of it.
type Activity struct {
	ID       string    `json:"id"`
	Revision int64     `json:"revision"` // the one of all activities when this one changed last
	Proposal Proposal  `json:"proposal"`
	Decision *Decision `json:"decision,omitempty"` // absent while nobody has decided

	// Effective is what counts: the proposal until somebody decides, then what
	// was accepted or written by that person, and nothing if it was rejected.
	Effective *Content `json:"effective,omitempty"`

	position int64
}

// Question says which activities.
type Question struct {
	ActivityIDs []string `json:"activityIds"` // nil for all
	Cursor      string   `json:"cursor"`
	Limit       int      `json:"limit"` // zero for 20
}

// ActivityContext is one page of activities, in the order of their first
// publication.
type ActivityContext struct {
	Revision   int64      `json:"revision"` // to name when publishing
	Activities []Activity `json:"activities"`
	Unknown    []string   `json:"unknown,omitempty"` // of the ids asked for
	NextCursor string     `json:"nextCursor,omitempty"`
}

// Activities returns activities and the revision that all of them are at.
func (st *Store) Activities(ctx context.Context, who Caller, q Question) (c ActivityContext, err error) {
	if q.Limit == 0 {
		q.Limit = defaultPage
	}
	if q.Limit < 1 || q.Limit > MaxPage || len(q.ActivityIDs) > MaxIDs {
		return c, refuse(Invalid, "ask for 1 to %d activities, and for at most %d ids", MaxPage, MaxIDs)
	}

	purpose := []string{"activities", encode(q.ActivityIDs)}
	position, err := st.openCursor(ctx, who, q.Cursor, purpose...)
	if err != nil {
		return c, err
	}
	after, _ := strconv.ParseInt(position, 10, 64) // the beginning for ""

	err = st.read(ctx, func(tx *sql.Tx) error {
		if c.Revision, err = head(ctx, tx, who.Tenant); err != nil {
			return err
		}
		var ids any // NULL: whatever the id
		if q.ActivityIDs != nil {
			ids = encode(q.ActivityIDs)
			if c.Unknown, err = unknownIDs(ctx, tx, who, ids); err != nil {
				return err
			}
		}
		c.Activities, err = all(ctx, tx, scanActivity,
			"SELECT "+activityColumns+" FROM activities WHERE tenant = ? AND position > ?"+
				" AND (?3 IS NULL OR id IN (SELECT value FROM json_each(?3))) ORDER BY position LIMIT ?4",
			who.Tenant, after, ids, q.Limit+1)

		return err
	})
	if err != nil || len(c.Activities) <= q.Limit {
		return c, err
	}
	c.Activities = c.Activities[:q.Limit]
	c.NextCursor, err = st.sealCursor(ctx, who, strconv.FormatInt(c.Activities[q.Limit-1].position, 10), purpose...)

	return c, err
}

const activityColumns = "id, position, revision, proposal, decision"

func scanActivity(row scanner) (a Activity, err error) {
	var proposal, decision []byte
	if err := row.Scan(&a.ID, &a.position, &a.Revision, &proposal, &decision); err != nil {
		return Activity{}, err
	}
	if err := json.Unmarshal(proposal, &a.Proposal); err != nil {
		return Activity{}, err
	}
	if decision != nil {
		if err := json.Unmarshal(decision, &a.Decision); err != nil {
			return Activity{}, err
		}
	}

	switch {
	case a.Decision == nil:
		a.Effective = &a.Proposal.Content
	case a.Decision.Verdict != Rejected:
		a.Effective = a.Decision.Content
	}

	return a, nil
}

func readActivity(ctx context.Context, tx *sql.Tx, who Caller, id string) (Activity, error) {
	a, err := scanActivity(tx.QueryRowContext(ctx,
		"SELECT "+activityColumns+" FROM activities WHERE tenant = ? AND id = ?", who.Tenant, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Activity{}, unknown("activity")
	}
	if err != nil {
		return Activity{}, fmt.Errorf("reading activity: %w", err)
	}

	return a, nil
}

func unknownIDs(ctx context.Context, tx *sql.Tx, who Caller, ids any) ([]string, error) {
	return all(ctx, tx, func(row scanner) (id string, err error) { return id, row.Scan(&id) },
		"SELECT DISTINCT value FROM json_each(?2) WHERE value NOT IN (SELECT id FROM activities WHERE tenant = ?1)", who.Tenant, ids)
}

// head is the revision that a tenant's activities are at.
func head(ctx context.Context, tx *sql.Tx, tenant string) (revision int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(revision), 0) FROM heads WHERE tenant = ?", tenant).Scan(&revision)
	if err != nil {
		return 0, fmt.Errorf("reading the revision: %w", err)
	}

	return revision, nil
}

// moveHead begins the next revision and writes it to the journal.
func moveHead(ctx context.Context, tx *sql.Tx, tenant string, revision int64) error {
	_, err := tx.ExecContext(ctx,
		"INSERT INTO heads (tenant, revision) VALUES (?, ?) ON CONFLICT DO UPDATE SET revision = excluded.revision", tenant, revision)
	if err != nil {
		return fmt.Errorf("writing the revision: %w", err)
	}

	return record(ctx, tx, tenant, "", activitiesChanged, "", revision)
}
