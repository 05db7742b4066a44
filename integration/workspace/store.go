package workspace

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// inMemory names the database that lives in one connection.
const inMemory = ":memory:"

// maxConnections bounds the connections to a database file. One writes at a
// time anyway; the others let reads go on meanwhile.
const maxConnections = 4

// migrations bring a database from the version that is its index to the next.
// Released entries are never edited, only followed by new ones.
var migrations = []string{migration1}

//go:embed schema1.sql
var migration1 string

// store holds the data of all tenants. Its methods take the caller and touch
// only rows of the caller's tenant.
type store struct {
	db *sql.DB
}

// openStore opens the database at a path, or a private one in memory, and brings
// it to the newest schema. A new database gets the seed decks.
func openStore(ctx context.Context, path string) (*store, error) {
	source, connections, err := source(path)
	if err != nil {
		return nil, err
	}

	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, fmt.Errorf("opening database: %w", err)
	}

	// A database in memory ends with its connection, so that one is kept forever.
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)

	st := &store{db: db}
	if err := st.migrate(ctx); err != nil {
		_ = db.Close() // err says what went wrong; a second complaint would hide it
		return nil, fmt.Errorf("migrating database: %w", err)
	}

	return st, nil
}

func (st *store) close() error { return st.db.Close() }

// write runs fn in a transaction that holds the write lock from its beginning,
// so what fn reads is still true when it writes. It commits if fn returns nil.
func (st *store) write(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := st.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning transaction: %w", err)
	}
	defer tx.Rollback() // after a commit it does nothing

	if err := fn(tx); err != nil {
		return err
	}

	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing transaction: %w", err)
	}

	return nil
}

func (st *store) migrate(ctx context.Context) error {
	return st.write(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return fmt.Errorf("reading schema version: %w", err)
		}
		if version > len(migrations) {
			return fmt.Errorf("the database has schema version %d, newest known is %d", version, len(migrations))
		}

		for i, statements := range migrations[version:] {
			if _, err := tx.ExecContext(ctx, statements); err != nil {
				return fmt.Errorf("reaching schema version %d: %w", version+i+1, err)
			}
		}
		if version == 0 {
			if err := seed(ctx, tx); err != nil {
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

// source returns the driver's name for the database and how many connections to
// it make sense.
func source(path string) (dsn string, connections int, err error) {
	query := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)"},
	}
	if path == "" || path == inMemory {
		return "file:" + inMemory + "?" + query.Encode(), 1, nil
	}

	abs, err := filepath.Abs(path)
	if err != nil {
		return "", 0, fmt.Errorf("finding database file: %w", err)
	}

	query.Add("_pragma", "journal_mode(WAL)") // readers do not wait for the writer
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: query.Encode()}

	return file.String(), maxConnections, nil
}
