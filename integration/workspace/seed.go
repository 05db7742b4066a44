package workspace

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// seeds are the decks a new database is born with. Every title names its tenant,
// so a deck shown to the wrong one is seen at once, and "roadmap" exists in both,
// so a lookup that forgets the tenant is seen too.
var seeds = []struct {
	tenant, id, title string
	archived          bool
}{
	{tenant: "acme", id: "roadmap", title: "Acme roadmap"},
	{tenant: "acme", id: "rocket-skates", title: "Acme rocket skates launch"},
	{tenant: "acme", id: "giant-magnet", title: "Acme giant magnet field trial"},
	{tenant: "acme", id: "earthquake-pills", title: "Acme earthquake pills recall", archived: true},
	{tenant: "globex", id: "roadmap", title: "Globex roadmap"},
	{tenant: "globex", id: "hammock-district", title: "Globex hammock district"},
	{tenant: "globex", id: "moon-laser", title: "Globex moon laser budget", archived: true},
}

// seedTime is when the first seed deck was made; each next one is a day younger.
var seedTime = time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)

func seed(ctx context.Context, tx *sql.Tx) error {
	for i, d := range seeds {
		created := seedTime.AddDate(0, 0, i).UnixMilli()
		_, err := tx.ExecContext(ctx,
			"INSERT INTO decks (tenant, id, title, archived, created) VALUES (?, ?, ?, ?, ?)",
			d.tenant, d.id, d.title, d.archived, created)
		if err != nil {
			return fmt.Errorf("seeding deck %s/%s: %w", d.tenant, d.id, err)
		}
	}

	return nil
}
