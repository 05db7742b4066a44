//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// process is a program of the measurement, pinned to one core.
type process struct {
	*exec.Cmd
	log  string // its output
	done chan struct{}
	stop func()
}

// The cores: the proxy measured has one for itself.
const (
	proxyCore = 0
	loadCore  = 1
)

// start runs a program with its output in a file of dir.
func start(ctx context.Context, dir, name string, core int, command ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{log: log.Name(), done: make(chan struct{})}
	p.Cmd = exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // programs of our own choice
	p.Cmd.Stdout, p.Cmd.Stderr = log, log
	home := filepath.Join(dir, "home of "+name)
	p.Cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home, "HOME="+home)
	if pinned() {
		p.Cmd.Env = append(p.Cmd.Env, "GOMAXPROCS=1")
	}
	if err := p.Cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", name, err), log.Close())
	}
	go func() {
		_ = p.Cmd.Wait() // killed by us, or found out by the next request
		_ = log.Close()
		close(p.done)
	}()
	p.stop = sync.OnceFunc(func() {
		_ = p.Cmd.Process.Kill()
		<-p.done
	})
	if err := pin(ctx, p.Cmd.Process.Pid, core); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// startServer starts this program as the MCP server, and returns its address.
func startServer(ctx context.Context, dir string) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("finding this program: %w", err)
	}
	p, err := start(ctx, dir, "server", loadCore, self, "-serve")
	if err != nil {
		return nil, "", err
	}
	for range 100 {
		if f, err := os.Open(p.log); err == nil {
			line, err := bufio.NewReader(f).ReadString('\n')
			_ = f.Close()
			if err == nil {
				return p, line[:len(line)-1], nil
			} else if !errors.Is(err, io.EOF) {
				return nil, "", err
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.stop()
	return nil, "", errors.New("the server did not start")
}

// pinned reports whether proxies get a core of their own.
func pinned() bool {
	_, err := exec.LookPath("taskset")
	return err == nil && runtime.NumCPU() > 1
}

func pin(ctx context.Context, pid, core int) error {
	if !pinned() {
		return nil
	}
	// All threads that the process has already, and so those it makes.
	out, err := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", strconv.Itoa(core), strconv.Itoa(pid)).CombinedOutput() //nolint:gosec // numbers only
	if err != nil {
		return fmt.Errorf("pinning process %d: %w: %s", pid, err, out)
	}
	return nil
}

// waitFor waits until somebody listens on addr.
func waitFor(ctx context.Context, p *process, addr string) error {
	for range 400 {
		if c, err := new(net.Dialer).DialContext(ctx, "tcp", addr); err == nil {
			return c.Close()
		}
		select {
		case <-p.done:
			return p.failure("ended at once")
		case <-time.After(25 * time.Millisecond):
		}
	}
	return p.failure("does not listen")
}

func (p *process) failure(what string) error {
	out, _ := os.ReadFile(p.log)
	return fmt.Errorf("%s %s: %s", filepath.Base(p.Path), what, out[max(0, len(out)-2000):])
}
