package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

var (
	//go:embed schema1.sql
	schema1 string
	//go:embed schema2.sql
	schema2 string
)

// migrations bring a database from the version that is its index to the next.
// Released entries are never edited, only followed by new ones.
var migrations = []struct {
	schema string
	seed   func(context.Context, *sql.Tx) error
}{
	{schema1, seedDecks},
	{schema2, seedActivities},
}

func (st *Store) migrate(ctx context.Context) error {
	return st.write(ctx, "", func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return fmt.Errorf("reading schema version: %w", err)
		}
		if version > len(migrations) {
			return fmt.Errorf("the database has schema version %d, newest known is %d", version, len(migrations))
		}

		for i, next := range migrations[version:] {
			if _, err := tx.ExecContext(ctx, next.schema); err != nil {
				return fmt.Errorf("reaching schema version %d: %w", version+i+1, err)
			}
			if err := next.seed(ctx, tx); err != nil {
				return err
			}
		}

		// PRAGMA takes no parameters; the number is our own.
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		if err != nil {
			return fmt.Errorf("writing schema version: %w", err)
		}

		return nil
	})
}
