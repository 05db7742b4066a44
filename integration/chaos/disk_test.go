//go:build linux

package chaos

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Also a disk that is full keeps nothing: not even a part of a key, which would be
// taken for one later.
func TestTheDiskIsFullWhenTheKeyIsMade(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("no small disk can be made, which only a superuser of Linux may: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("giving the disk back: %v", err)
		}
	})
	met.Add(1)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "more"), []byte("x"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	w := newWorld(t, "", nil)
	w.works(t, "before the fault")
	text := string(w.caddyfile)
	reload(t, w, []byte(strings.Replace(text, "admin off", "admin off\n\tstorage file_system "+filepath.Join(disk, "storage"), 1)))
	wantAll(t, w.all(t, listTools, patience), http.StatusServiceUnavailable, "temporarily unavailable")
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	w.works(t, "after there is room")
	survived.Add(1)
}
