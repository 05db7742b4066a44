package workspace

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// field is one setting: what a settings page shows of it and which values it
// takes. Its JSON is the property's schema.
type field struct {
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	Type        string   `json:"type"` // string, integer or boolean
	Enum        []string `json:"enum,omitempty"`
	Minimum     *int     `json:"minimum,omitempty"`
	Maximum     *int     `json:"maximum,omitempty"`

	initial any // the value of a person who never changed it
}

var fields = map[string]field{
	"theme": {
		Title: "Theme", Type: "string", Enum: []string{"system", "light", "dark"}, initial: "system",
	},
	"density": {
		Title: "Density", Description: "How much room each deck takes.",
		Type: "string", Enum: []string{"comfortable", "compact"}, initial: "comfortable",
	},
	"pageSize": {
		Title: "Decks per page", Type: "integer", Minimum: new(1), Maximum: new(100), initial: 20,
	},
	"showArchived": {
		Title: "Show archived decks", Type: "boolean", initial: false,
	},
}

// values are the settings in force for one person: every field has one.
type values map[string]any

// settings returns the values in force for the caller. Stored values that no
// longer fit their field count as never set.
func (st *store) settings(ctx context.Context, who caller) (values, error) {
	return readSettings(ctx, st.db, who)
}

// updateSettings changes the named settings of the caller, all or none, and
// returns all values in force. It refuses an empty change, unknown names and
// values outside their field.
func (st *store) updateSettings(ctx context.Context, who caller, set map[string]json.RawMessage) (values, error) {
	if len(set) == 0 {
		return nil, refusal("nothing to set")
	}

	checked := make(values, len(set))
	for _, key := range slices.Sorted(maps.Keys(set)) {
		f, ok := fields[key]
		if !ok {
			return nil, refusal(fmt.Sprintf("unknown setting %q", key))
		}

		value, ok := f.accept(set[key])
		if !ok {
			return nil, refusal(fmt.Sprintf("setting %q does not take this value", key))
		}
		checked[key] = value
	}

	var after values
	err := st.write(ctx, func(tx *sql.Tx) error {
		for key, value := range checked {
			encoded, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("encoding setting %q: %w", key, err)
			}

			_, err = tx.ExecContext(ctx,
				"INSERT INTO settings (tenant, subject, key, value) VALUES (?, ?, ?, ?)"+
					" ON CONFLICT DO UPDATE SET value = excluded.value",
				who.tenant, who.subject, key, string(encoded))
			if err != nil {
				return fmt.Errorf("writing setting %q: %w", key, err)
			}
		}

		var err error
		after, err = readSettings(ctx, tx, who)

		return err
	})
	if err != nil {
		return nil, err
	}

	return after, nil
}

// querier is a database or a transaction on it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func readSettings(ctx context.Context, q querier, who caller) (values, error) {
	all := make(values, len(fields))
	for key, f := range fields {
		all[key] = f.initial
	}

	rows, err := q.QueryContext(ctx,
		"SELECT key, value FROM settings WHERE tenant = ? AND subject = ?", who.tenant, who.subject)
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	defer rows.Close()

	for rows.Next() {
		var key, encoded string
		if err := rows.Scan(&key, &encoded); err != nil {
			return nil, fmt.Errorf("reading settings: %w", err)
		}
		if value, ok := fields[key].accept(json.RawMessage(encoded)); ok {
			all[key] = value
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}

	return all, nil
}

// accept decodes a JSON value and reports whether the field takes it. The zero
// field takes nothing.
func (f field) accept(raw json.RawMessage) (value any, ok bool) {
	if json.Unmarshal(raw, &value) != nil {
		return nil, false
	}

	switch v := value.(type) {
	case bool:
		return v, f.Type == "boolean"
	case string:
		return v, f.Type == "string" && slices.Contains(f.Enum, v)
	case float64:
		// JSON Schema calls 20.0 an integer, and JSON does not tell it from 20.
		if f.Type != "integer" || v != math.Trunc(v) || v < float64(*f.Minimum) || v > float64(*f.Maximum) {
			return nil, false
		}

		return int(v), true
	}

	return nil, false
}
