package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// The schemes of what can be mentioned.
const (
	DeckScheme   = "deck://"
	PersonScheme = "person://"
)

// maxMentions is how many mentions one search finds at most.
const maxMentions = 25

// Mention is a resource link to a deck or a person.
type Mention struct {
	Type        string `json:"type"` // resource_link
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

// Person is somebody the tenant knows.
type Person struct {
	Handle string `json:"handle"`
	Name   string `json:"name"`
}

// Mentions finds decks and people whose title, name or handle holds the text,
// without regard to case: decks first, each by name. The empty text finds the
// first ones. Archived decks are not found.
func (st *Store) Mentions(ctx context.Context, who Caller, query string) (found []Mention, err error) {
	query = strings.ToLower(strings.TrimSpace(query))
	err = st.read(ctx, func(tx *sql.Tx) error {
		decks, err := listDecks(ctx, tx, who, false)
		if err != nil {
			return err
		}
		people, err := all(ctx, tx, func(row scanner) (p Person, err error) { return p, row.Scan(&p.Handle, &p.Name) },
			"SELECT handle, name FROM people WHERE tenant = ? ORDER BY name", who.Tenant)
		if err != nil {
			return err
		}

		found = []Mention{}
		for _, d := range decks {
			found = offer(found, query, DeckScheme+d.ID, d.Title, "Deck", d.ID)
		}
		for _, p := range people {
			// The @ in a handle is no character of a template's variable.
			found = offer(found, query, PersonScheme+url.QueryEscape(p.Handle), p.Name, "@"+p.Handle, p.Handle)
		}

		return nil
	})

	return found, err
}

func offer(found []Mention, query, uri, title, description, name string) []Mention {
	if len(found) == maxMentions || !strings.Contains(strings.ToLower(title+"\n"+name), query) {
		return found
	}

	return append(found, Mention{"resource_link", uri, name, title, description, "application/json"})
}

// Person returns somebody by handle.
func (st *Store) Person(ctx context.Context, who Caller, handle string) (p Person, err error) {
	err = st.read(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT handle, name FROM people WHERE tenant = ? AND handle = ?", who.Tenant, handle).Scan(&p.Handle, &p.Name)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Person{}, unknown("person")
	}
	if err != nil {
		return Person{}, fmt.Errorf("reading person: %w", err)
	}

	return p, nil
}
