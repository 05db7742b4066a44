package membership

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

func TestWhoWatchesIsToldOfItsOwnMemberOnly(t *testing.T) {
	var w Watchers
	told := map[string]int{}
	watch := func(name string) (stop func()) {
		return w.Watch(Identity{"i", name, "acme"}, func() { told[name]++ })
	}
	stopAnn, stopAgain, stopBob := watch("ann"), watch("ann"), watch("bob")
	w.Notify([]Identity{{"i", "ann", "acme"}, {"i", "nobody", "acme"}, {"i", "bob", "globex"}})
	if told["ann"] != 2 || told["bob"] != 0 {
		t.Errorf("told %v, want both who watch ann and nobody else", told)
	}
	stopAgain()
	stopAgain() // twice is harmless
	w.Notify([]Identity{{"i", "ann", "acme"}, {"i", "bob", "acme"}})
	if told["ann"] != 3 || told["bob"] != 1 {
		t.Errorf("told %v after one has stopped", told)
	}
	stopAnn()
	stopBob()
	if len(w.of) != 0 {
		t.Errorf("%d identities are kept for nobody", len(w.of))
	}
}

// Whoever is told may ask the source, and stop watching, at once.
func TestAChangedFileTellsItsWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "members.json")
		write(t, path, membersOf(ann))
		var w Watchers
		f, err := NewFile(FileConfig{Path: path, OnChange: w.Notify})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ended := false
		var stop func()
		stop = w.Watch(Identity{"i", "ann", "acme"}, func() {
			stop()
			ended = !isMember(t, f, "i", "ann", "acme")
		})
		if err := os.WriteFile(path, []byte(membersOf()), 0o600); err != nil {
			t.Fatal(err)
		}
		seconds(1)
		if !ended {
			t.Error("the watcher was not told, or the source still said yes")
		}
	})
}
