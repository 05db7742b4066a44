package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

const (
	// keptChanges bounds the journal of one tenant.
	keptChanges = 1000

	// lookAgain is how often a watcher looks for what other processes wrote;
	// writers of its own process ring.
	lookAgain = 2 * time.Second
)

// The kinds of changes.
const (
	deckChanged       = "deck"
	activitiesChanged = "activities"
	settingsChanged   = "settings" // told to the person only
)

// Change is one committed change. Its Seq counts up by one within a tenant.
type Change struct {
	Seq      int64  `json:"seq"`
	Kind     string `json:"kind"` // deck, activities or settings
	ID       string `json:"id,omitempty"`
	Revision int64  `json:"revision,omitempty"` // none if it is gone
}

// Snapshot is where everything stands after the change Seq.
type Snapshot struct {
	Seq        int64     `json:"seq"`
	Missed     int64     `json:"missed"` // changes since the one that the watcher saw last
	Activities int64     `json:"activities"`
	Decks      []DeckRef `json:"decks"`
}

// DeckRef is a deck's id with its revision.
type DeckRef struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
}

// Watcher is told what happens.
type Watcher interface {
	Snapshot(Snapshot) error
	Change(Change) error
	Idle() error // every few seconds without a change, to see whether anybody listens
}

// Watch tells a snapshot at once, then every change as it is committed, until the
// context ends or the watcher returns an error. A watcher that comes again says
// what it saw last, or -1. One that falls behind the journal gets a new snapshot.
func (st *Store) Watch(ctx context.Context, who Caller, last int64, w Watcher) error {
	bell, hangUp := st.bells.listen(who.Tenant)
	defer hangUp()

	snapshot, err := st.snapshot(ctx, who, last)
	if err != nil {
		return err
	}
	if err := w.Snapshot(snapshot); err != nil {
		return err
	}

	seen := snapshot.Seq
	clock := time.NewTicker(lookAgain)
	defer clock.Stop()

	for {
		select {
		case <-bell:
		case <-clock.C:
		case <-ctx.Done():
			return ctx.Err()
		}

		changes, newest, err := st.changesSince(ctx, who, seen)
		if err != nil {
			return err
		}
		if newest-seen > keptChanges {
			if snapshot, err = st.snapshot(ctx, who, seen); err != nil {
				return err
			}
			if err := w.Snapshot(snapshot); err != nil {
				return err
			}
			seen = snapshot.Seq

			continue
		}
		if len(changes) == 0 {
			if err := w.Idle(); err != nil {
				return err
			}
		}
		for _, c := range changes {
			if err := w.Change(c); err != nil {
				return err
			}
		}
		seen = newest
	}
}

// record adds to the journal, in the transaction that makes the change.
func record(ctx context.Context, tx *sql.Tx, tenant, subject, kind, id string, revision int64) error {
	seq, err := lastChange(ctx, tx, tenant)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO changes (tenant, seq, subject, kind, id, revision) VALUES (?, ?, ?, ?, ?, ?)",
		tenant, seq+1, subject, kind, id, revision)
	if err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM changes WHERE tenant = ? AND seq <= ?", tenant, seq+1-keptChanges)
	if err != nil {
		return fmt.Errorf("shortening the journal: %w", err)
	}

	return nil
}

func lastChange(ctx context.Context, tx *sql.Tx, tenant string) (seq int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM changes WHERE tenant = ?", tenant).Scan(&seq)
	if err != nil {
		return 0, fmt.Errorf("reading the journal: %w", err)
	}

	return seq, nil
}

func (st *Store) snapshot(ctx context.Context, who Caller, last int64) (s Snapshot, err error) {
	err = st.read(ctx, func(tx *sql.Tx) error {
		if s.Seq, err = lastChange(ctx, tx, who.Tenant); err != nil {
			return err
		}
		if s.Activities, err = head(ctx, tx, who.Tenant); err != nil {
			return err
		}
		decks, err := listDecks(ctx, tx, who, true)
		s.Decks = []DeckRef{}
		for _, d := range decks {
			s.Decks = append(s.Decks, DeckRef{d.ID, d.Revision})
		}

		return err
	})
	if last >= 0 && last < s.Seq {
		s.Missed = s.Seq - last
	}

	return s, err
}

func (st *Store) changesSince(ctx context.Context, who Caller, seq int64) (changes []Change, newest int64, err error) {
	err = st.read(ctx, func(tx *sql.Tx) error {
		if newest, err = lastChange(ctx, tx, who.Tenant); err != nil {
			return err
		}
		changes, err = all(ctx, tx, func(row scanner) (c Change, err error) {
			return c, row.Scan(&c.Seq, &c.Kind, &c.ID, &c.Revision)
		}, "SELECT seq, kind, id, revision FROM changes WHERE tenant = ? AND seq > ? AND subject IN ('', ?) ORDER BY seq",
			who.Tenant, seq, who.Subject)

		return err
	})

	return changes, newest, err
}

// bells tell watchers that something was committed, not what: they look
// themselves, so a slow one holds nobody up and misses nothing.
type bells struct {
	mu       sync.Mutex
	byTenant map[string]map[chan struct{}]bool
}

func (b *bells) listen(tenant string) (bell <-chan struct{}, hangUp func()) {
	b.mu.Lock()
	defer b.mu.Unlock()

	c := make(chan struct{}, 1)
	if b.byTenant == nil {
		b.byTenant = make(map[string]map[chan struct{}]bool)
	}
	if b.byTenant[tenant] == nil {
		b.byTenant[tenant] = make(map[chan struct{}]bool)
	}
	b.byTenant[tenant][c] = true

	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		delete(b.byTenant[tenant], c)
		if len(b.byTenant[tenant]) == 0 {
			delete(b.byTenant, tenant)
		}
	}
}

func (b *bells) ring(tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	for c := range b.byTenant[tenant] {
		select {
		case c <- struct{}{}:
		default: // it rings already
		}
	}
}
