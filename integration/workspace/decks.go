package workspace

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxTitle bounds a deck's title, in characters.
	maxTitle = 200

	// maxDecks bounds the decks of one tenant, so that a list fits one answer.
	maxDecks = 1000

	// idLength is the number of base32 characters of a new deck's id: 60 random
	// bits, far more than a tenant's thousand decks need.
	idLength = 12
)

// errUnknownDeck is the one answer for a deck that does not exist and for a deck
// of another tenant.
const errUnknownDeck = refusal("unknown deck")

// deck is one deck as callers see it.
type deck struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Archived bool      `json:"archived"`
	Created  time.Time `json:"created"`
}

// decks returns the tenant's decks, oldest first, archived ones only if asked.
func (st *store) decks(ctx context.Context, who caller, archived bool) ([]deck, error) {
	rows, err := st.db.QueryContext(ctx,
		"SELECT id, title, archived, created FROM decks WHERE tenant = ? AND archived <= ? ORDER BY created, id",
		who.tenant, archived)
	if err != nil {
		return nil, fmt.Errorf("listing decks: %w", err)
	}
	defer rows.Close()

	decks := []deck{} // JSON wants [], not null
	for rows.Next() {
		d, err := scanDeck(rows)
		if err != nil {
			return nil, fmt.Errorf("listing decks: %w", err)
		}
		decks = append(decks, d)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("listing decks: %w", err)
	}

	return decks, nil
}

// deck returns one deck of the tenant, archived or not, or errUnknownDeck.
func (st *store) deck(ctx context.Context, who caller, id string) (deck, error) {
	row := st.db.QueryRowContext(ctx,
		"SELECT id, title, archived, created FROM decks WHERE tenant = ? AND id = ?", who.tenant, id)

	d, err := scanDeck(row)
	if errors.Is(err, sql.ErrNoRows) {
		return deck{}, errUnknownDeck
	}
	if err != nil {
		return deck{}, fmt.Errorf("reading deck: %w", err)
	}

	return d, nil
}

// createDeck makes a deck with a random id. Titles are trimmed; two decks may
// share one.
func (st *store) createDeck(ctx context.Context, who caller, title string) (deck, error) {
	title = strings.TrimSpace(title)
	if err := checkTitle(title); err != nil {
		return deck{}, err
	}

	d := deck{
		ID:      strings.ToLower(rand.Text()[:idLength]),
		Title:   title,
		Created: time.Now().UTC().Truncate(time.Millisecond),
	}
	err := st.write(ctx, func(tx *sql.Tx) error {
		var count int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM decks WHERE tenant = ?", who.tenant).Scan(&count); err != nil {
			return fmt.Errorf("counting decks: %w", err)
		}
		if count >= maxDecks {
			return refusal(fmt.Sprintf("the workspace is full: it holds %d decks", maxDecks))
		}

		_, err := tx.ExecContext(ctx,
			"INSERT INTO decks (tenant, id, title, archived, created) VALUES (?, ?, ?, ?, ?)",
			who.tenant, d.ID, d.Title, d.Archived, d.Created.UnixMilli())
		if err != nil {
			return fmt.Errorf("inserting deck: %w", err)
		}

		return nil
	})
	if err != nil {
		return deck{}, err
	}

	return d, nil
}

// purgeDeck deletes one deck of the tenant for good, or returns errUnknownDeck.
func (st *store) purgeDeck(ctx context.Context, who caller, id string) error {
	return st.write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM decks WHERE tenant = ? AND id = ?", who.tenant, id)
		if err != nil {
			return fmt.Errorf("deleting deck: %w", err)
		}

		n, err := res.RowsAffected()
		if err != nil {
			return fmt.Errorf("deleting deck: %w", err)
		}
		if n == 0 {
			return errUnknownDeck
		}

		return nil
	})
}

func checkTitle(title string) error {
	switch {
	case title == "":
		return refusal("a deck needs a title")
	case !utf8.ValidString(title) || strings.ContainsFunc(title, unicode.IsControl):
		return refusal("a title is one line of text")
	case utf8.RuneCountInString(title) > maxTitle:
		return refusal(fmt.Sprintf("a title has at most %d characters", maxTitle))
	}

	return nil
}

// scanDeck reads one row of id, title, archived, created.
func scanDeck(row interface{ Scan(...any) error }) (deck, error) {
	var (
		d       deck
		created int64
	)
	if err := row.Scan(&d.ID, &d.Title, &d.Archived, &created); err != nil {
		return deck{}, err
	}
	d.Created = time.UnixMilli(created).UTC()

	return d, nil
}
