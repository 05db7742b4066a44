//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// profile takes a CPU profile while a case runs, and one of allocations behind
// it: how a figure came about. Rounds overwrite each other.
func (b *bench) profile(p *path, m measure, d time.Duration) (finish func()) {
	done := make(chan error, 1)
	go func() {
		done <- b.fetchProfile(p, m.Name+".cpu", fmt.Sprintf("profile?seconds=%d", max(1, int(d.Seconds()))))
	}()
	return func() {
		if err := <-done; err != nil {
			fmt.Println("  no profile:", err)
		}
		if err := b.fetchProfile(p, m.Name+".allocs", "allocs"); err != nil {
			fmt.Println("  no profile:", err)
		}
	}
}

func (b *bench) fetchProfile(p *path, name, query string) error {
	answer, err := http.Get("http://" + p.admin + "/debug/pprof/" + query) //nolint:noctx // ends with the run
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	f, err := os.Create(filepath.Join(b.profiles, name))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, answer.Body)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
