package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"time"
)

const (
	// MaxTitle bounds the title of a deck or column, in characters.
	MaxTitle = 200

	// maxDecks bounds the decks of one tenant, so that a list fits one answer.
	maxDecks = 1000
)

// DeckIDPattern is what an id may look like that the caller chooses.
const DeckIDPattern = "^[a-z0-9][a-z0-9-]{0,63}$"

var deckID = regexp.MustCompile(DeckIDPattern)

// NewDeck is what a deck is made from.
type NewDeck struct {
	DeckID  string         `json:"deckId"` // empty for a new one
	Title   string         `json:"title"`
	Columns []ColumnChange `json:"columns"`
}

// DeckChange is what a deck shall be.
type DeckChange struct {
	DeckID           string         `json:"deckId"`
	ExpectedRevision int64          `json:"expectedRevision"`
	Title            string         `json:"title"`
	Archived         *bool          `json:"archived"` // nil leaves it as it is
	Columns          []ColumnChange `json:"columns"`
}

// CreateDeck makes a deck. Two decks may share a title, not an id. Asking again
// for the same with the same id returns the deck as it is by now.
func (st *Store) CreateDeck(ctx context.Context, who Caller, in NewDeck) (d Deck, err error) {
	if in.Title, err = line("a deck's title", in.Title, MaxTitle); err != nil {
		return Deck{}, err
	}
	if in.DeckID != "" && !deckID.MatchString(in.DeckID) {
		return Deck{}, refuse(Invalid, "a deck's id has up to 64 small letters, digits and hyphens")
	}

	madeFrom := fingerprint(in)
	err = st.write(ctx, who.Tenant, func(tx *sql.Tx) error {
		if in.DeckID != "" {
			found, sameAs, err := readDeck(ctx, tx, who, in.DeckID)
			switch refusal, ok := errors.AsType[*Error](err); {
			case err == nil && sameAs == madeFrom:
				d = found
				return nil
			case err == nil:
				return refuse(Conflict, "there is another deck with this id")
			case !ok || refusal.Code != Unknown:
				return err
			}
		}

		var count int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM decks WHERE tenant = ?", who.Tenant).Scan(&count); err != nil {
			return fmt.Errorf("counting decks: %w", err)
		}
		if count >= maxDecks {
			return refuse(Full, "the workspace is full: it holds %d decks", maxDecks)
		}

		columns, err := changeColumns(ctx, tx, who, nil, in.Columns)
		if err != nil {
			return err
		}
		d = Deck{Summary{ID: in.DeckID, Title: in.Title, Created: time.Now().UTC().Truncate(time.Millisecond), Revision: 1}, columns}
		if d.ID == "" {
			d.ID = newID()
		}
		_, err = tx.ExecContext(ctx,
			"INSERT INTO decks (tenant, id, title, archived, created, revision, columns, made_from) VALUES (?, ?, ?, 0, ?, 1, ?, ?)",
			who.Tenant, d.ID, d.Title, d.Created.UnixMilli(), encode(d.Columns), madeFrom)
		if err != nil {
			return fmt.Errorf("inserting deck: %w", err)
		}

		return record(ctx, tx, who.Tenant, "", deckChanged, d.ID, d.Revision)
	})
	if err != nil {
		return Deck{}, err
	}

	return d, nil
}

// ReplaceDeck puts title and columns in place of those that the caller saw. A
// column that names its id stays that column; one without is new.
func (st *Store) ReplaceDeck(ctx context.Context, who Caller, in DeckChange) (d Deck, err error) {
	if in.Title, err = line("a deck's title", in.Title, MaxTitle); err != nil {
		return Deck{}, err
	}

	err = st.write(ctx, who.Tenant, func(tx *sql.Tx) error {
		if d, err = expectDeck(ctx, tx, who, in.DeckID, in.ExpectedRevision); err != nil {
			return err
		}
		if d.Columns, err = changeColumns(ctx, tx, who, d.Columns, in.Columns); err != nil {
			return err
		}
		d.Title = in.Title
		d.Revision++
		if in.Archived != nil {
			d.Archived = *in.Archived
		}
		_, err := tx.ExecContext(ctx,
			"UPDATE decks SET title = ?, archived = ?, revision = ?, columns = ? WHERE tenant = ? AND id = ?",
			d.Title, d.Archived, d.Revision, encode(d.Columns), who.Tenant, d.ID)
		if err != nil {
			return fmt.Errorf("replacing deck: %w", err)
		}

		return record(ctx, tx, who.Tenant, "", deckChanged, d.ID, d.Revision)
	})
	if err != nil {
		return Deck{}, err
	}

	return d, nil
}

// DeleteDeck deletes a deck as the caller saw it.
func (st *Store) DeleteDeck(ctx context.Context, who Caller, id string, expectedRevision int64) error {
	return st.write(ctx, who.Tenant, func(tx *sql.Tx) error {
		if _, err := expectDeck(ctx, tx, who, id, expectedRevision); err != nil {
			return err
		}

		return dropDeck(ctx, tx, who, id)
	})
}

// PurgeDeck deletes a deck whatever it has become.
func (st *Store) PurgeDeck(ctx context.Context, who Caller, id string) error {
	return st.write(ctx, who.Tenant, func(tx *sql.Tx) error {
		if _, _, err := readDeck(ctx, tx, who, id); err != nil {
			return err
		}

		return dropDeck(ctx, tx, who, id)
	})
}

func expectDeck(ctx context.Context, tx *sql.Tx, who Caller, id string, revision int64) (Deck, error) {
	d, _, err := readDeck(ctx, tx, who, id)
	if err == nil && d.Revision != revision {
		err = stale("the deck", d.Revision)
	}

	return d, err
}

func dropDeck(ctx context.Context, tx *sql.Tx, who Caller, id string) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM decks WHERE tenant = ? AND id = ?", who.Tenant, id); err != nil {
		return fmt.Errorf("deleting deck: %w", err)
	}

	return record(ctx, tx, who.Tenant, "", deckChanged, id, 0)
}
