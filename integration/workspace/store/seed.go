package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
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

func seedDecks(ctx context.Context, tx *sql.Tx) error {
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

// columns are what some seed decks show.
var columns = []struct {
	tenant, deck string
	columns      []Column
}{
	{"acme", "roadmap", []Column{
		{"home", "Everybody we follow", "acme-main", relay.Source{Kind: relay.Home}},
		{"skates", "#rocketskates", "acme-main", relay.Source{Kind: relay.Hashtag, Value: "rocketskates"}},
	}},
	{"acme", "rocket-skates", []Column{
		{"track", "Test track", "acme-main", relay.Source{Kind: relay.List, Value: "7"}},
		{"skates", "#rocketskates", "acme-main", relay.Source{Kind: relay.Hashtag, Value: "rocketskates"}},
		{"fieldwork", "#fieldwork", "acme-main", relay.Source{Kind: relay.Hashtag, Value: "fieldwork"}},
	}},
	{"globex", "roadmap", []Column{
		{"home", "Everybody we follow", "globex-main", relay.Source{Kind: relay.Home}},
		{"hammocks", "#hammocks", "globex-main", relay.Source{Kind: relay.Hashtag, Value: "hammocks"}},
	}},
}

// rows are the other things that a tenant is born with.
var rows = []struct {
	insert string
	values [][]any
}{
	{"INSERT INTO connections (tenant, id, account, status, credential) VALUES (?, ?, ?, ?, ?)", [][]any{
		{"acme", "acme-main", "@skates@acme.example", "connected", "recorded-acme-main"},
		{"acme", "acme-support", "@support@acme.example", "expired", "recorded-acme-support"},
		{"globex", "globex-main", "@optics@globex.example", "connected", "recorded-globex-main"},
	}},
	{"INSERT INTO people (tenant, handle, name) VALUES (?, ?, ?)", [][]any{
		{"acme", "mira@tidepool.example", "Mira Okonkwo"},
		{"acme", "benno@forge.example", "Benno Hartwig"},
		{"acme", "lucia@canyon.example", "Lucía Barrientos"},
		{"globex", "hank@cypress.example", "Hank Delacroix"},
		{"globex", "ines@harbour.example", "Inês Carvalho"},
	}},
	{"INSERT INTO heads (tenant, revision) VALUES (?, ?)", [][]any{{"acme", 1}, {"globex", 1}}},
	{"INSERT INTO activities (tenant, id, position, revision, proposal) VALUES (?, ?, ?, ?, ?)", [][]any{
		{"acme", "launch-note", 1, 1, encode(Proposal{
			Content{"Acme rocket skates cross the canyon on Thursday at dawn. Helmets on!", []string{"rocketskates", "fieldwork"}},
			"acme-main", "", "The crossing is booked, and three people asked for the date.",
		})},
		{"acme", "magnet-thanks", 2, 1, encode(Proposal{
			Content{"Acme says thank you to everybody who helped to get the painter off the giant magnet.", []string{}},
			"acme-main", "", "",
		})},
		{"globex", "hammock-vote", 1, 1, encode(Proposal{
			Content{"Globex hammocks: \"whatever dries fastest\" has won. Hanging starts in May.", []string{"hammocks"}},
			"globex-main", "", "The vote is closed.",
		})},
	}},
}

func seedActivities(ctx context.Context, tx *sql.Tx) error {
	for _, c := range columns {
		_, err := tx.ExecContext(ctx, "UPDATE decks SET columns = ? WHERE tenant = ? AND id = ?", encode(c.columns), c.tenant, c.deck)
		if err != nil {
			return fmt.Errorf("seeding columns of %s/%s: %w", c.tenant, c.deck, err)
		}
	}
	for _, r := range rows {
		for _, v := range r.values {
			if _, err := tx.ExecContext(ctx, r.insert, v...); err != nil {
				return fmt.Errorf("seeding by %s: %w", r.insert, err)
			}
		}
	}

	return nil
}
