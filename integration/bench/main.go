//go:build linux

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// bench is one run of all measurements.
type bench struct {
	dir      string
	only     string
	rounds   int
	duration time.Duration // of one round of one path
	warmUp   time.Duration
	ways     int // connections at saturation
	streams  []int
	tokens   int
	numbers  uint64
	profiles string // folder

	site     site
	caddy    string // binary with the module
	plain    string // and without
	paths    []*path
	issuer   *issuer.Running
	server   *process
	rs256    []string
	es256    []string
	cold     []string
	megabyte string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	serve := flag.Bool("serve", false, "be the MCP server (used by the program itself)")
	quick := flag.Bool("quick", false, "fewer and shorter rounds, two minutes in all; writes nothing unless -out is given")
	only := flag.String("only", "", "names of cases, separated by commas")
	peers := flag.Bool("peers", true, "also measure oauth2-proxy")
	withVMCP := flag.Bool("vmcp", false, "also measure ToolHive's vmcp, which takes minutes to build")
	keepFolder := flag.Bool("keep", false, "keep the folder with configurations and logs")
	profiles := flag.String("profile", "", "folder for CPU and allocation profiles of the gateway, two for each case")
	out := flag.String("out", "", "folder for performance.md, performance.json and the charts; default docs, nothing for -quick and -only")
	flag.Parse()
	if *serve {
		return runServer(context.Background())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	raiseFileLimit()

	dir, err := os.MkdirTemp("", "mcp-app-bench")
	if err != nil {
		return err
	}
	defer func() {
		if !*keepFolder {
			_ = os.RemoveAll(dir)
		}
	}()
	b := &bench{dir: dir, profiles: *profiles, only: *only, rounds: 5, duration: 3 * time.Second, warmUp: time.Second, ways: 16, streams: []int{500, 10_000}, tokens: 10_000}
	if *quick {
		b.rounds, b.duration, b.warmUp, b.streams, b.tokens = 3, 400*time.Millisecond, 200*time.Millisecond, []int{500}, 2000
	}
	if *out == "" && !*quick && *only == "" {
		*out = "docs"
	}
	if err := b.start(ctx, *peers, *withVMCP); err != nil {
		return errors.Join(err, b.stop())
	}
	report, err := b.measureAll(ctx)
	if err := errors.Join(err, b.stop()); err != nil {
		return err
	}
	if *out == "" {
		return nil
	}
	return report.write(*out)
}

// start builds and starts everything that is measured.
func (b *bench) start(ctx context.Context, peers, withVMCP bool) (err error) {
	if pinned() {
		if err := pin(ctx, os.Getpid(), loadCore); err != nil {
			return err
		}
	}
	fmt.Println("building")
	b.caddy, err = build(ctx, b.dir, "caddy", "github.com/caddy-mcp-app/caddy-mcp-app/cmd/caddy")
	if err != nil {
		return err
	}
	b.plain, err = build(ctx, b.dir, "stock", "github.com/caddyserver/caddy/v2/cmd/caddy")
	if err != nil {
		return err
	}
	if b.issuer, err = issuer.Start(ctx); err != nil {
		return err
	}
	var server string
	b.server, server, err = startServer(ctx, b.dir)
	if err != nil {
		return err
	}
	b.site = site{Server: server, Issuer: b.issuer.URL, Audience: "http://127.0.0.1:8080/mcp", Dir: b.dir}
	if err := b.signTokens(); err != nil {
		return err
	}
	b.megabyte = strings.Repeat("a", 1_000_000)

	b.paths = append(b.paths, &path{name: direct, addr: server})
	for _, name := range allPaths[1:] {
		if name == oauth2Proxy && !peers || name == vmcp && !withVMCP {
			continue
		}
		p, err := b.startPath(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.paths = append(b.paths, p)
	}
	return nil
}

func (b *bench) startPath(ctx context.Context, name string) (*path, error) {
	switch name {
	case oauth2Proxy:
		binary, err := install(ctx, name, "github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6")
		if err != nil {
			return nil, err
		}
		return startOAuth2Proxy(ctx, binary, b.site)
	case vmcp:
		binary, err := install(ctx, name, "github.com/stacklok/toolhive/cmd/vmcp@v0.47.0")
		if err != nil {
			return nil, err
		}
		return startVMCP(ctx, binary, b.site, b.rs256[0])
	default:
		return b.fresh(ctx, name, nil)
	}
}

// stop ends every process that was started.
func (b *bench) stop() error {
	for _, p := range b.paths {
		if p.proxy != nil {
			p.proxy.stop()
		}
	}
	if b.server != nil {
		b.server.stop()
	}
	if b.issuer == nil {
		return nil
	}
	return b.issuer.Close()
}

// build compiles a program of this module's dependency graph.
func build(ctx context.Context, dir, name, pkg string) (string, error) {
	binary := filepath.Join(dir, name)
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, pkg).CombinedOutput() //nolint:gosec // our own arguments
	if err != nil {
		return "", fmt.Errorf("building %s: %w: %s", name, err, out)
	}
	return binary, nil
}

// install builds a peer at a pinned version, beside the module cache so that it
// is built once.
func install(ctx context.Context, name, version string) (string, error) {
	gopath, err := exec.CommandContext(ctx, "go", "env", "GOPATH").Output()
	if err != nil {
		return "", fmt.Errorf("asking for GOPATH: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(gopath)), "mcp-app-tools")
	binary := filepath.Join(dir, name)
	module, wanted, _ := strings.Cut(version, "@")
	if info, err := exec.CommandContext(ctx, "go", "version", "-m", binary).Output(); err == nil && strings.Contains(string(info), wanted) { //nolint:gosec // our own arguments
		return binary, nil
	}
	fmt.Println("building", module, wanted)
	install := exec.CommandContext(ctx, "go", "install", version) //nolint:gosec // our own arguments
	install.Env = append(os.Environ(), "GOBIN="+dir)
	install.Dir = os.TempDir()
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", name, err, out)
	}
	return binary, nil
}

// signTokens makes the callers.
func (b *bench) signTokens() error {
	for _, kind := range []struct {
		to    *[]string
		alg   string
		count int
		who   string
	}{{&b.rs256, issuer.RS256, 10, "caller"}, {&b.es256, issuer.ES256, b.tokens, "caller"}, {&b.cold, issuer.ES256, b.tokens * 2, "stranger"}} {
		for i := range kind.count {
			signed, err := b.issuer.Issue(issuer.Grant{
				Subject: fmt.Sprintf("%s-%06d", kind.who, i), Audience: []string{b.site.Audience}, Scopes: []string{"mcp.use"}, Algorithm: kind.alg,
				Claims: map[string]any{"jti": fmt.Sprintf("%s-%06d", kind.alg, i), "email": "caller@example.com", "email_verified": true},
			})
			if err != nil {
				return err
			}
			*kind.to = append(*kind.to, signed)
		}
	}
	return nil
}

// unknownKid makes a well-formed token with the n-th key id that nobody knows.
func (b *bench) unknownKid(n uint64) string {
	header, _ := json.Marshal(map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": fmt.Sprintf("nobody-%012d", n)})
	_, rest, _ := strings.Cut(b.es256[0], ".")
	return base64.RawURLEncoding.EncodeToString(header) + "." + rest
}

// raiseFileLimit asks for enough descriptors for many streams; what cannot be
// had shows as failed connections.
func raiseFileLimit() {
	limit := syscall.Rlimit{Cur: 65536, Max: 65536}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Println("open files stay limited:", err)
	}
}

// machine describes where a run took place, without naming it.
func machine() string {
	return fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
