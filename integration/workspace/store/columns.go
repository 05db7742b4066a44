package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
)

// MaxColumns bounds the columns of a deck.
const MaxColumns = 6

// Column shows the posts of one source, seen through one connection.
type Column struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	ConnectionID string       `json:"connectionId"`
	Source       relay.Source `json:"source"`
}

// ColumnChange is what a column shall be: a new one, or with an id the one that
// has it.
type ColumnChange struct {
	ID           string       `json:"id,omitempty"`
	Title        string       `json:"title"`
	ConnectionID string       `json:"connectionId"`
	Source       relay.Source `json:"source"`
}

// changeColumns makes columns out of changes. Ids come from the columns there
// are and stay with them.
func changeColumns(ctx context.Context, tx *sql.Tx, who Caller, present []Column, changes []ColumnChange) ([]Column, error) {
	if len(changes) > MaxColumns {
		return nil, refuse(Invalid, "a deck has at most %d columns", MaxColumns)
	}

	columns := []Column{}
	for _, change := range changes {
		if change.ID == "" {
			change.ID = newID()
		} else if has := func(c Column) bool { return c.ID == change.ID }; !slices.ContainsFunc(present, has) || slices.ContainsFunc(columns, has) {
			return nil, refuse(Invalid, "column %q is not one of this deck, or named twice", change.ID)
		}

		column := Column(change)
		var err error
		if column.Title, err = line("a column's title", column.Title, MaxTitle); err != nil {
			return nil, err
		}
		if err := checkSource(column.Source); err != nil {
			return nil, err
		}
		if _, err := readConnection(ctx, tx, who, column.ConnectionID); err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}

	return columns, nil
}

// checkSource checks what a source names.
func checkSource(s relay.Source) error {
	switch s.Kind {
	case relay.Home, relay.Public:
		if s.Value != "" {
			return refuse(Invalid, "the source %s takes no value", s.Kind)
		}
	case relay.Hashtag:
		return hashtag(s.Value)
	case relay.List:
		if s.Value == "" || len(s.Value) > 64 {
			return refuse(Invalid, "the source list takes the id of a list as its value")
		}
	default:
		return refuse(Invalid, "unknown source %q", s.Kind)
	}

	return nil
}
