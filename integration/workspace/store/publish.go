package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

const (
	// MaxPublished bounds the activities of one publication.
	MaxPublished = 50

	// MaxRequestID bounds the id of a publication, in characters.
	MaxRequestID = 128

	// keptReceipts bounds the receipts of one tenant. Whoever asks again after
	// that is told that the revision is stale, so nothing is published twice.
	keptReceipts = 1000
)

// Publication is what is published at once.
type Publication struct {
	RequestID        string        `json:"requestId"`
	ExpectedRevision int64         `json:"expectedRevision"`
	Activities       []NewProposal `json:"activities"`
}

// NewProposal proposes content for a new activity or for one that there is.
type NewProposal struct {
	ActivityID   string   `json:"activityId"`
	ConnectionID string   `json:"connectionId"`
	Text         string   `json:"text"`
	Hashtags     []string `json:"hashtags"`
	ReplyTo      string   `json:"replyTo"`
	Note         string   `json:"note"`
}

// Receipt says what became of a publication.
type Receipt struct {
	RequestID string   `json:"requestId"`
	Revision  int64    `json:"revision"` // after it
	Created   []string `json:"created"`  // ids of activities that are new
	Updated   []string `json:"updated"`  // ids of activities with another proposal than before
	Unchanged []string `json:"unchanged"`
}

var activityID = regexp.MustCompile(ActivityIDRule)

// Publish publishes all proposals or none. The same request again is answered
// with the receipt of the first time, whatever has happened since; another
// request under the same id is a conflict. What people decided stays.
func (st *Store) Publish(ctx context.Context, who Caller, p Publication) (receipt Receipt, err error) {
	if err := p.check(); err != nil {
		return Receipt{}, err
	}
	request := fingerprint(p)

	err = st.write(ctx, who.Tenant, func(tx *sql.Tx) error {
		var known string
		var answered []byte
		err := tx.QueryRowContext(ctx, "SELECT request, receipt FROM receipts WHERE tenant = ? AND request_id = ?", who.Tenant, p.RequestID).
			Scan(&known, &answered)
		switch {
		case err == nil && known == request:
			return json.Unmarshal(answered, &receipt)
		case err == nil:
			return refuse(Conflict, "the request id was used for another publication")
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("reading receipt: %w", err)
		}

		newest, err := head(ctx, tx, who.Tenant)
		if err != nil {
			return err
		}
		if newest != p.ExpectedRevision {
			return stale("the list of activities", newest)
		}

		receipt = Receipt{p.RequestID, newest + 1, []string{}, []string{}, []string{}}
		for _, proposal := range p.Activities {
			if err := receipt.add(ctx, tx, who, proposal); err != nil {
				return err
			}
		}
		if err := moveHead(ctx, tx, who.Tenant, receipt.Revision); err != nil {
			return err
		}

		return receipt.keep(ctx, tx, who, request)
	})
	if err != nil {
		return Receipt{}, err
	}

	return receipt, nil
}

// check looks at everything that can be seen without the database, and trims
// what is there.
func (p *Publication) check() error {
	if _, err := line("a request id", p.RequestID, MaxRequestID); err != nil {
		return err
	}
	if len(p.Activities) < 1 || len(p.Activities) > MaxPublished {
		return refuse(Invalid, "publish 1 to %d activities at once", MaxPublished)
	}

	p.Activities = slices.Clone(p.Activities) // the caller's own stay as they are
	seen := make(map[string]bool)
	for i := range p.Activities {
		a := &p.Activities[i]
		if !activityID.MatchString(a.ActivityID) || seen[a.ActivityID] {
			return refuse(Invalid, "activity %q: an id has letters, digits and _ . : -, and stands once in a publication", a.ActivityID)
		}
		seen[a.ActivityID] = true

		content, err := checkContent(Content{a.Text, a.Hashtags})
		if err != nil {
			return refuse(Invalid, "activity %q: %s", a.ActivityID, err)
		}
		a.Text, a.Hashtags = content.Text, content.Hashtags
		if a.Note, err = prose("a note", a.Note, MaxNote); err != nil {
			return err
		}
		if len(a.ReplyTo) > MaxActivityID {
			return refuse(Invalid, "replyTo is the id of a post")
		}
	}

	return nil
}

func checkContent(c Content) (Content, error) {
	text, err := prose("the text", c.Text, MaxText)
	switch {
	case err != nil:
		return Content{}, err
	case text == "":
		return Content{}, refuse(Invalid, "the text is missing")
	case len(c.Hashtags) > MaxHashtags:
		return Content{}, refuse(Invalid, "at most %d hashtags", MaxHashtags)
	}
	if c.Hashtags == nil {
		c.Hashtags = []string{}
	}

	return Content{text, c.Hashtags}, hashtags(c.Hashtags)
}

// add writes one proposal.
func (r *Receipt) add(ctx context.Context, tx *sql.Tx, who Caller, p NewProposal) error {
	if _, err := readConnection(ctx, tx, who, p.ConnectionID); err != nil {
		return err
	}
	proposal := encode(Proposal{Content{p.Text, p.Hashtags}, p.ConnectionID, p.ReplyTo, p.Note})

	present, err := readActivity(ctx, tx, who, p.ActivityID)
	refusal, _ := errors.AsType[*Error](err)
	switch {
	case err == nil && encode(present.Proposal) == proposal:
		r.Unchanged = append(r.Unchanged, p.ActivityID)

		return nil
	case err == nil:
		r.Updated = append(r.Updated, p.ActivityID)
		_, err = tx.ExecContext(ctx, "UPDATE activities SET proposal = ?, revision = ? WHERE tenant = ? AND id = ?",
			proposal, r.Revision, who.Tenant, p.ActivityID)
	case refusal != nil && refusal.Code == Unknown:
		r.Created = append(r.Created, p.ActivityID)
		err = insertActivity(ctx, tx, who, p.ActivityID, r.Revision, proposal)
	}

	return err
}

func insertActivity(ctx context.Context, tx *sql.Tx, who Caller, id string, revision int64, proposal string) error {
	var last int64
	err := tx.QueryRowContext(ctx, "SELECT coalesce(max(position), 0) FROM activities WHERE tenant = ?", who.Tenant).Scan(&last)
	if err != nil {
		return fmt.Errorf("counting activities: %w", err)
	}
	if last >= maxActivities {
		return refuse(Full, "the workspace is full: it holds %d activities", maxActivities)
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO activities (tenant, id, position, revision, proposal) VALUES (?, ?, ?, ?, ?)",
		who.Tenant, id, last+1, revision, proposal)
	if err != nil {
		return fmt.Errorf("inserting activity: %w", err)
	}

	return nil
}

func (r *Receipt) keep(ctx context.Context, tx *sql.Tx, who Caller, request string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO receipts (tenant, request_id, request, revision, receipt) VALUES (?, ?, ?, ?, ?)",
		who.Tenant, r.RequestID, request, r.Revision, encode(r))
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM receipts WHERE tenant = ? AND revision <= ?", who.Tenant, r.Revision-keptReceipts)
	}
	if err != nil {
		return fmt.Errorf("keeping receipt: %w", err)
	}

	return nil
}
