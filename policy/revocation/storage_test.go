package revocation

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/state"
)

// process is a list with a store that forgets and a storage that does not.
func process(t *testing.T, storage Storage, config Config) *List {
	t.Helper()
	config.Store = state.NewMemory(0)
	l := newList(t, config)
	l.UseStorage(storage)
	return l
}

func TestStorageOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := new(files)
		first := process(t, storage, Config{})
		e := revoke(t, first, Request{Tenant: "acme", TTL: time.Hour})
		lifted := revoke(t, first, Request{Tenant: "globex"})
		if err := first.Lift(t.Context(), lifted.ID); err != nil {
			t.Fatal(err)
		}
		first.Close()

		second := process(t, storage, Config{})
		wantCheck(t, second, alice(), ErrRevoked)
		if got := wantEntries(t, second, 1); got[0].ID != e.ID || !got[0].Expires.Equal(e.Expires) {
			t.Errorf("entry %+v, was %+v", got[0], e)
		}
		second.Close()

		time.Sleep(2 * time.Hour)
		wantCheck(t, process(t, storage, Config{}), alice(), nil)
	})
}

// A list that was never read might hold anybody.
func TestListIsClosedUntilTheStorageIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []struct {
			name       string
			begin, end func(*files)
		}{
			{"cannot be read", func(f *files) { f.breakWith(fs.ErrPermission) }, func(f *files) { f.breakWith(nil) }},
			{
				"is damaged",
				func(f *files) { f.content = map[string][]byte{StorageKey: []byte(`{"revocations":[`)} },
				func(f *files) { f.mu.Lock(); f.content = nil; f.mu.Unlock() },
			},
		} {
			storage := new(files)
			fault.begin(storage)
			told := new(told)
			l := process(t, storage, told.config())
			wantCheck(t, l, alice(), ErrStale)
			told.wantStates(t, Starting)
			told.wantProblems(t, 1, 1, StorageKey)
			fault.end(storage)
			time.Sleep(time.Second)
			if err := l.Check(t.Context(), alice()); err != nil {
				t.Errorf("%s, and then not any more: %v", fault.name, err)
			}
			l.Close()
		}
	})
}

func TestStorageThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := new(files)
		told := new(told)
		l := process(t, storage, told.config())
		wantCheck(t, l, alice(), nil)
		full := errors.New("no space left on device")
		storage.breakWith(full)
		if _, err := l.Revoke(t.Context(), Request{Tenant: "acme"}); !errors.Is(err, full) {
			t.Errorf("acknowledged: %v", err)
		}
		wantCheck(t, l, alice(), ErrRevoked)
		time.Sleep(time.Minute)
		wantCheck(t, l, alice(), ErrRevoked)
		told.wantProblems(t, 1, 10, full.Error())
		storage.breakWith(nil)
		time.Sleep(time.Minute)
		l.Close()
		wantCheck(t, process(t, storage, Config{}), alice(), ErrRevoked)
	})
}

// Every load of a configuration hands a storage over: an old one again, or
// another one, which gets the whole list.
func TestStorageCanBeReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := new(files), new(files)
		l := process(t, one, Config{})
		revoke(t, l, Request{Tenant: "acme"})
		// The list may have read its storage only after that, and found it empty.
		synctest.Wait()
		writes := one.written()
		l.UseStorage(one)
		time.Sleep(time.Second)
		if one.written() != writes {
			t.Error("the same list was written again")
		}
		prepared := process(t, other, Config{})
		revoke(t, prepared, Request{Tenant: "globex"})
		prepared.Close()

		l.UseStorage(other)
		time.Sleep(time.Second)
		wantEntries(t, l, 2)
		globex := alice()
		globex.Tenant = "globex"
		wantCheck(t, l, globex, ErrRevoked)
		l.Close()
		entries := wantEntries(t, process(t, other, Config{}), 2)
		tenants := []string{entries[0].Tenant, entries[1].Tenant}
		if slices.Sort(tenants); !slices.Equal(tenants, []string{"acme", "globex"}) {
			t.Errorf("the new storage holds %q", tenants)
		}
	})
}
