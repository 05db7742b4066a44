package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
)

// Connection is an account elsewhere, without what opens it.
type Connection struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	Status  string `json:"status"` // connected or expired
}

// Connections returns the tenant's connections, by id.
func (st *Store) Connections(ctx context.Context, who Caller) (list []Connection, err error) {
	err = st.read(ctx, func(tx *sql.Tx) error {
		list, err = all(ctx, tx, func(row scanner) (c Connection, err error) {
			return c, row.Scan(&c.ID, &c.Account, &c.Status)
		}, "SELECT id, account, status FROM connections WHERE tenant = ? ORDER BY id", who.Tenant)

		return err
	})

	return list, err
}

// Lists returns the lists of a connection's account.
func (st *Store) Lists(ctx context.Context, who Caller, connectionID string) ([]relay.NamedList, error) {
	credential, err := st.credential(ctx, who, connectionID)
	if err != nil {
		return nil, err
	}

	lists, err := st.relay.Lists(ctx, credential)
	if err != nil {
		return nil, relayed(ctx, err)
	}

	return lists, nil
}

func readConnection(ctx context.Context, tx *sql.Tx, who Caller, id string) (c Connection, err error) {
	err = tx.QueryRowContext(ctx, "SELECT id, account, status FROM connections WHERE tenant = ? AND id = ?", who.Tenant, id).
		Scan(&c.ID, &c.Account, &c.Status)
	if errors.Is(err, sql.ErrNoRows) {
		return Connection{}, unknown("connection")
	}
	if err != nil {
		return Connection{}, fmt.Errorf("reading connection: %w", err)
	}

	return c, nil
}

// credential returns what opens a connection's account. It stays in this
// package.
func (st *Store) credential(ctx context.Context, who Caller, id string) (credential string, err error) {
	err = st.read(ctx, func(tx *sql.Tx) error {
		c, err := readConnection(ctx, tx, who, id)
		switch {
		case err != nil:
			return err
		case c.Status != "connected":
			return refuse(ConnectionDown, "the connection %q is %s: somebody has to connect the account again", id, c.Status)
		}
		err = tx.QueryRowContext(ctx, "SELECT credential FROM connections WHERE tenant = ? AND id = ?", who.Tenant, id).Scan(&credential)
		if err != nil {
			return fmt.Errorf("reading connection: %w", err)
		}

		return nil
	})

	return credential, err
}

// relayed makes a refusal of what went wrong at the relay. Its own words stay
// here: they may hold addresses.
func relayed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, relay.ErrDenied):
		return refuse(ConnectionDown, "the account does not accept its connection any more: somebody has to connect it again")
	default:
		return refuse(RelayDown, "the account's server cannot be reached; try again later")
	}
}
