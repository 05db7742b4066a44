package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Values are the settings in force for one person: every field has one.
type Values map[string]any

// Settings returns the values in force for the caller. Stored values that no
// longer fit their field count as never set.
func (st *Store) Settings(ctx context.Context, who Caller) (v Values, err error) {
	err = st.read(ctx, func(tx *sql.Tx) error {
		v, err = readSettings(ctx, tx, who)

		return err
	})

	return v, err
}

// UpdateSettings changes the named settings of the caller, all or none, and
// returns all values in force. It refuses an empty change, unknown names and
// values outside their field.
func (st *Store) UpdateSettings(ctx context.Context, who Caller, set map[string]json.RawMessage) (Values, error) {
	subject, err := who.Person()
	if err != nil {
		return nil, err
	}
	if len(set) == 0 {
		return nil, refuse(Invalid, "nothing to set")
	}

	checked := make(Values, len(set))
	for _, key := range slices.Sorted(maps.Keys(set)) {
		f, ok := Fields[key]
		if !ok {
			return nil, refuse(Invalid, "unknown setting %q", key)
		}

		value, ok := f.accept(set[key])
		if !ok {
			return nil, refuse(Invalid, "setting %q does not take this value", key)
		}
		checked[key] = value
	}

	var after Values
	err = st.write(ctx, who.Tenant, func(tx *sql.Tx) error {
		for key, value := range checked {
			encoded, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("encoding setting %q: %w", key, err)
			}

			_, err = tx.ExecContext(ctx,
				"INSERT INTO settings (tenant, subject, key, value) VALUES (?, ?, ?, ?)"+
					" ON CONFLICT DO UPDATE SET value = excluded.value",
				who.Tenant, subject, key, string(encoded))
			if err != nil {
				return fmt.Errorf("writing setting %q: %w", key, err)
			}
		}

		after, err = readSettings(ctx, tx, who)
		if err != nil {
			return err
		}

		return record(ctx, tx, who.Tenant, subject, settingsChanged, "", 0)
	})
	if err != nil {
		return nil, err
	}

	return after, nil
}

func readSettings(ctx context.Context, tx *sql.Tx, who Caller) (Values, error) {
	all := make(Values, len(Fields))
	for key, f := range Fields {
		all[key] = f.initial
	}

	rows, err := tx.QueryContext(ctx,
		"SELECT key, value FROM settings WHERE tenant = ? AND subject = ?", who.Tenant, who.Subject)
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	defer rows.Close()

	for rows.Next() {
		var key, encoded string
		if err := rows.Scan(&key, &encoded); err != nil {
			return nil, fmt.Errorf("reading settings: %w", err)
		}
		if value, ok := Fields[key].accept(json.RawMessage(encoded)); ok {
			all[key] = value
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}

	return all, nil
}
