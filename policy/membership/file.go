package membership

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxFile bounds a members file; some 100,000 members.
	maxFile = 16 << 20
	// pollInterval is how often the file is looked at: often enough that whoever
	// is taken out is out within a second, also what they have open.
	pollInterval = 250 * time.Millisecond
	// settleTime is how long a file has to be left alone until its time of
	// change is believed: file systems keep times as coarse as two seconds.
	settleTime = 3 * time.Second
)

// FileConfig describes a members file.
type FileConfig struct {
	// Path of the file. It is read again within a second of a change. A change
	// that cannot be read leaves everything as it was, with a warning.
	Path string `json:"path"`

	// OnChange is told, after a change, whose membership ended or became another
	// one, so that what they have open can be ended too. It must not reload the
	// file itself. Optional.
	OnChange func([]Identity) `json:"-"`
	// OnFault is told when the file cannot be read, once for each fault, and
	// with nil when it is good again. Optional.
	OnFault func(error) `json:"-"`
}

// File is a [Source] that reads a file and follows its changes.
type File struct {
	config  FileConfig
	current atomic.Pointer[members]

	mu    sync.Mutex
	seen  os.FileInfo // of the last look
	hash  [sha256.Size]byte
	fault string

	stop func()
	done chan struct{}
}

// NewFile reads the file, which must be good now, and follows it until Close.
func NewFile(config FileConfig) (*File, error) {
	f := &File{config: config, done: make(chan struct{})}
	if err := f.Reload(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	go f.follow(ctx)
	return f, nil
}

// Member implements Source.
func (f *File) Member(_ context.Context, issuer, subject, tenant string) (Membership, error) {
	return (*f.current.Load())[Identity{issuer, subject, tenant}], nil
}

// Len returns how many members there are.
func (f *File) Len() int { return len(*f.current.Load()) }

// Reload reads the file at once. If that fails, the last good content stays.
func (f *File) Reload() error { return f.look(true) }

// Close stops following the file. Member keeps answering.
func (f *File) Close() {
	f.stop()
	<-f.done
}

func (f *File) follow(ctx context.Context) {
	defer close(f.done)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = f.look(false) // reported through OnFault
		}
	}
}

// look reads the file if it may have changed, or in any case.
func (f *File) look(always bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.lookLocked(always)
	f.reportLocked(err)
	return err
}

func (f *File) lookLocked(always bool) error {
	info, err := os.Stat(f.config.Path)
	if err != nil {
		f.seen = nil
		return fmt.Errorf("members file: %w", err)
	}
	if !always && f.fault == "" && f.settledLocked(info) {
		return nil
	}
	raw, err := readBounded(f.config.Path)
	if err != nil {
		return fmt.Errorf("members file: %w", err)
	}
	// Taken before reading: a change in between shows at the next look.
	f.seen = info
	hash := sha256.Sum256(raw)
	before := f.current.Load()
	if before != nil && hash == f.hash {
		return nil
	}
	after, err := parseFile(raw)
	if err != nil {
		return fmt.Errorf("members file %s: %w", f.config.Path, err)
	}
	f.hash = hash
	f.current.Store(&after)
	if before != nil && f.config.OnChange != nil {
		if who := changed(*before, after); len(who) > 0 {
			f.config.OnChange(who)
		}
	}
	return nil
}

// settledLocked reports whether the file is surely the one last read.
func (f *File) settledLocked(info os.FileInfo) bool {
	return f.seen != nil && os.SameFile(f.seen, info) && f.seen.Size() == info.Size() &&
		f.seen.ModTime().Equal(info.ModTime()) && time.Since(info.ModTime()) > settleTime
}

// reportLocked tells about a fault once, and about its end.
func (f *File) reportLocked(err error) {
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	if fault == f.fault {
		return
	}
	f.fault = fault
	if f.config.OnFault != nil && f.current.Load() != nil {
		f.config.OnFault(err)
	}
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return raw, nil
}
