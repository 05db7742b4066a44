package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Summary is a deck without its columns. Its revision counts its changes.
type Summary struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Archived bool      `json:"archived"`
	Created  time.Time `json:"created"`
	Revision int64     `json:"revision"`
}

// Deck is a deck with its columns from left to right.
type Deck struct {
	Summary
	Columns []Column `json:"columns"`
}

// Decks returns the tenant's decks, oldest first, archived ones only if asked.
func (st *Store) Decks(ctx context.Context, who Caller, archived bool) (decks []Summary, err error) {
	err = st.read(ctx, func(tx *sql.Tx) error {
		decks, err = listDecks(ctx, tx, who, archived)

		return err
	})

	return decks, err
}

// Deck returns one deck of the tenant, archived or not.
func (st *Store) Deck(ctx context.Context, who Caller, id string) (d Deck, err error) {
	err = st.read(ctx, func(tx *sql.Tx) error {
		d, _, err = readDeck(ctx, tx, who, id)

		return err
	})

	return d, err
}

func listDecks(ctx context.Context, tx *sql.Tx, who Caller, archived bool) ([]Summary, error) {
	return all(ctx, tx, func(row scanner) (d Summary, err error) {
		var created int64
		err = row.Scan(&d.ID, &d.Title, &d.Archived, &created, &d.Revision)
		d.Created = time.UnixMilli(created).UTC()

		return d, err
	}, "SELECT id, title, archived, created, revision FROM decks WHERE tenant = ? AND archived <= ? ORDER BY created, id",
		who.Tenant, archived)
}

// readDeck returns a deck and the fingerprint of the request that made it.
func readDeck(ctx context.Context, tx *sql.Tx, who Caller, id string) (d Deck, madeFrom string, err error) {
	var (
		created int64
		columns []byte
	)
	err = tx.QueryRowContext(ctx,
		"SELECT id, title, archived, created, revision, columns, made_from FROM decks WHERE tenant = ? AND id = ?", who.Tenant, id).
		Scan(&d.ID, &d.Title, &d.Archived, &created, &d.Revision, &columns, &madeFrom)
	if errors.Is(err, sql.ErrNoRows) {
		return Deck{}, "", unknown("deck")
	}
	if err == nil {
		err = json.Unmarshal(columns, &d.Columns)
	}
	if err != nil {
		return Deck{}, "", fmt.Errorf("reading deck: %w", err)
	}
	d.Created = time.UnixMilli(created).UTC()

	return d, madeFrom, nil
}
