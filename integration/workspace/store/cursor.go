package store

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
)

// tagLength is the length of a cursor's signature, in bytes.
const tagLength = 16

// maxCursor bounds a cursor, in characters.
const maxCursor = 512

// sealCursor makes a cursor out of a position. It opens for the same tenant and
// purpose only, also after a restart.
func (st *Store) sealCursor(ctx context.Context, who Caller, position string, purpose ...string) (string, error) {
	key, err := st.cursorKey(ctx, who)
	if err != nil {
		return "", err
	}

	return base64.RawURLEncoding.EncodeToString(append(tag(key, position, purpose), position...)), nil
}

// openCursor returns the position in a cursor, the beginning for "".
func (st *Store) openCursor(ctx context.Context, who Caller, cursor string, purpose ...string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	wrong := refuse(BadCursor, "the cursor belongs to another list: begin without one")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(cursor) > maxCursor || len(raw) < tagLength {
		return "", wrong
	}
	key, err := st.cursorKey(ctx, who)
	if err != nil {
		return "", err
	}
	position := string(raw[tagLength:])
	if !hmac.Equal(raw[:tagLength], tag(key, position, purpose)) {
		return "", wrong
	}

	return position, nil
}

func tag(key []byte, position string, purpose []string) []byte {
	mac := hmac.New(sha256.New, key)
	fmt.Fprint(mac, encode(append(purpose, position))) // JSON, so no two lists read alike

	return mac.Sum(nil)[:tagLength]
}

// cursorKey returns the tenant's key, made when it is first asked for.
func (st *Store) cursorKey(ctx context.Context, who Caller) (key []byte, err error) {
	find := func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT key FROM cursor_keys WHERE tenant = ?", who.Tenant).Scan(&key)
	}
	if err = st.read(ctx, find); err == nil {
		return key, nil
	}
	err = st.write(ctx, who.Tenant, func(tx *sql.Tx) error {
		fresh := make([]byte, sha256.Size)
		_, _ = rand.Read(fresh) // never fails
		if _, err := tx.ExecContext(ctx, "INSERT INTO cursor_keys (tenant, key) VALUES (?, ?) ON CONFLICT DO NOTHING", who.Tenant, fresh); err != nil {
			return err
		}

		return find(tx)
	})
	if err != nil {
		return nil, fmt.Errorf("finding the key of cursors: %w", err)
	}

	return key, nil
}
