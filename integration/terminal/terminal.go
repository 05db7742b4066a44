//go:build linux

// Package terminal makes pseudo terminals, to see what commands show on one.
package terminal

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// Open returns both ends of a pseudo terminal.
func Open(t *testing.T) (screen, line *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal can be had: %v", err)
	}
	var number, unlocked uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 { //nolint:gosec // what ioctl takes
			t.Fatal(errno)
		}
	}
	line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, line
}
