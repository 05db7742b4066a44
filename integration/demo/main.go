// Command demo shows the main job of the gateway on real parts: a sample MCP
// server that knows nothing of OpenAI, tokens or tenants becomes a tenant-safe
// ChatGPT plugin. It runs Caddyfile.example, prints what is asked and answered,
// and exits 0 only if every step gave the expected answer.
//
// With -keep everything stays up for browsing around.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

func main() {
	keep := flag.Bool("keep", false, "leave everything running and print URLs and tokens")
	config := flag.String("config", "", "Caddyfile to run (default Caddyfile.example of this repository)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *config, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config string, keep bool) (err error) {
	if config == "" {
		config = exampleFile()
	}
	caddyfile, err := os.ReadFile(config)
	if err != nil {
		return fmt.Errorf("reading the Caddyfile (run from the repository, or use -config): %w", err)
	}
	s, err := stack.Start(ctx, stack.Config{Caddyfile: caddyfile})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	out := newNarrator(os.Stdout)
	if err := tell(ctx, out, newCast(s)); err != nil {
		return err
	}
	if keep {
		return keepRunning(ctx, out, s)
	}
	return nil
}

// exampleFile finds Caddyfile.example from the repository's root, or beside
// the sources where the command is run from elsewhere.
func exampleFile() string {
	const name = "Caddyfile.example"
	if _, err := os.Stat(name); err == nil {
		return name
	}
	_, source, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(source), "..", "..", name)
}

// keepRunning prints what a visitor needs and waits for an interrupt.
func keepRunning(ctx context.Context, out *narrator, s *stack.Stack) error {
	out.title("Everything is still running; Ctrl-C ends it")
	out.text("The names end in .localhost. Where your system does not resolve them, add to /etc/hosts:")
	out.text("  127.0.0.1 acme.localhost globex.localhost")
	for _, p := range []person{editor("acme"), viewer("acme"), editor("globex")} {
		bearer, err := p.token(s)
		if err != nil {
			return err
		}
		out.text("")
		out.text("%s", p.name)
		out.text("  URL    %s", s.URL(p.tenant))
		out.text("  token  %s", bearer)
		out.text("  MCP Inspector:")
		out.text("    npx @modelcontextprotocol/inspector --cli %s --transport http --method tools/list --header 'Authorization: Bearer %s'", s.URL(p.tenant), bearer)
	}
	out.text("")
	out.text("Gateway log: %s", s.LogFile)
	<-ctx.Done()
	return nil
}
