package store

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
)

// MaxURL bounds an app-relative URL, in bytes.
const MaxURL = 2048

// Place is what an app-relative URL stands for.
type Place struct {
	URL      string    `json:"url"`
	View     string    `json:"view"`               // home, deck, activities or activity
	Deck     *Deck     `json:"deck,omitempty"`     // with view "deck"
	Activity *Activity `json:"activity,omitempty"` // with view "activity"
}

// Resolve finds the place of an app-relative URL in the caller's workspace. The
// query is the page's business and comes back untouched. Dots in the path mean
// nothing here: "/decks/.." is looked up as the deck "..", which cannot exist.
func (st *Store) Resolve(ctx context.Context, who Caller, raw string) (Place, error) {
	notRelative := refuse(Invalid, "a url begins with exactly one slash and has no fragment")
	if len(raw) > MaxURL || !strings.HasPrefix(raw, "/") || strings.HasPrefix(raw, "//") ||
		strings.ContainsAny(raw, "#\\") {
		return Place{}, notRelative
	}

	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return Place{}, notRelative
	}

	// The escaped path is split, so an escaped slash stays part of an id.
	first, rest, more := strings.Cut(u.EscapedPath()[1:], "/")
	id, err := url.PathUnescape(rest)
	switch {
	case err != nil:
		return Place{}, notRelative
	case first == "" && !more:
		return Place{URL: raw, View: "home"}, nil
	case first == "activities" && !more:
		return Place{URL: raw, View: "activities"}, nil
	case first == "decks" && more && !strings.Contains(rest, "/"):
		d, err := st.Deck(ctx, who, id)

		return Place{URL: raw, View: "deck", Deck: &d}, err
	case first == "activities" && !strings.Contains(rest, "/"):
		p := Place{URL: raw, View: "activity"}
		err := st.read(ctx, func(tx *sql.Tx) error {
			a, err := readActivity(ctx, tx, who, id)
			p.Activity = &a

			return err
		})

		return p, err
	}

	return Place{}, unknown("page")
}
