package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// scanner is one row.
type scanner interface{ Scan(...any) error }

// all reads all rows of a query.
func all[T any](ctx context.Context, tx *sql.Tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("reading rows: %w", err)
	}
	defer rows.Close()

	list := []T{} // JSON wants [], not null
	for rows.Next() {
		element, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("reading a row: %w", err)
		}
		list = append(list, element)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading rows: %w", err)
	}

	return list, nil
}

// encode is the JSON of values that always have one.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("store: " + err.Error())
	}

	return string(text)
}

// fingerprint tells whether two requests ask for the same.
func fingerprint(request any) string {
	sum := sha256.Sum256([]byte(encode(request)))

	return hex.EncodeToString(sum[:])
}

// idLength is the number of base32 characters of a new id: 60 random bits, far
// more than a tenant's thousand decks need.
const idLength = 12

func newID() string { return strings.ToLower(rand.Text()[:idLength]) }
