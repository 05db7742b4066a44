package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
)

// inMemory names the database that lives in one connection.
const inMemory = ":memory:"

// maxConnections bounds the connections to a database file. One writes at a
// time anyway; the others let reads go on meanwhile.
const maxConnections = 4

// Store holds the data of all tenants. It is safe for concurrent use.
type Store struct {
	db      *sql.DB
	relay   relay.Relay
	writing chan struct{} // holds one token while somebody writes
	bells   bells
}

// Open opens the database at a path, or a private one in memory for "" and
// ":memory:", and brings it to the newest schema. A new database gets the sample
// tenants acme and globex. Posts come from the relay.
func Open(ctx context.Context, path string, posts relay.Relay) (*Store, error) {
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

	st := &Store{db: db, relay: posts, writing: make(chan struct{}, 1)}
	if err := st.migrate(ctx); err != nil {
		_ = db.Close() // err says what went wrong; a second complaint would hide it
		return nil, fmt.Errorf("migrating database: %w", err)
	}

	return st, nil
}

// Close closes the database. Calls still on their way then fail.
func (st *Store) Close() error { return st.db.Close() }

// write runs fn in a transaction that holds the write lock from its beginning,
// so what fn reads is still true when it writes. It commits if fn returns nil,
// and then whoever watches the tenant is told to look.
func (st *Store) write(ctx context.Context, tenant string, fn func(*sql.Tx) error) error {
	// In one process writers queue here, in order, instead of trying the lock of
	// the file again and again. Other processes are waited for by busy_timeout.
	select {
	case st.writing <- struct{}{}:
		defer func() { <-st.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}

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
	st.bells.ring(tenant)

	return nil
}

// read runs fn in a transaction that sees one state of the database throughout.
func (st *Store) read(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := st.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("beginning to read: %w", err)
	}
	defer tx.Rollback() // there is nothing to commit

	return fn(tx)
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

	// Readers do not wait for the writer, and a commit that was answered is on
	// the disk.
	query["_pragma"] = append(query["_pragma"], "journal_mode(WAL)", "synchronous(FULL)")
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: query.Encode()}

	return file.String(), maxConnections, nil
}
