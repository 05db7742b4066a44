package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"
)

func init() { verbs = append(verbs, newConsoleCommand) }

// consoleStart is what --json prints: where the console is, or why it is not.
type consoleStart struct {
	URL     string        `json:"url,omitempty"`
	Admin   string        `json:"admin"`
	Failure *consoleFault `json:"failure,omitempty"`
}

// newConsoleCommand is caddy mcp-app console.
func newConsoleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "console [--admin <address>] [--port <port>] [--json]",
		Short: "Shows endpoints, catalogs and decisions of a running Caddy in the browser",
		Long: `Shows endpoints, catalogs and decisions of a running Caddy in the browser: what
one principal sees, which rule hides the rest, what is wrong, and what is decided
right now. Nothing can be changed there, and no tool is called.

The page is served at a port of this machine's loopback address, under a link
that works once. What it asks goes through this command to Caddy's admin
endpoint, and only to what is read there. Tokens that are pasted into the page
stay in its memory, and in that of Caddy for the time of a check. When asked to,
the command itself checks an endpoint from outside, as doctor does.

The console ends with this command (Ctrl-C).

Exit codes: 0 the console was ended, 1 the admin endpoint does not answer, 2 the
command line is wrong.`,
		Example: `  caddy mcp-app console
  caddy mcp-app console --admin unix//run/caddy/admin.sock`,
		DisableFlagsInUseLine: true,
	}
	var admin string
	var port uint16
	flags := cmd.Flags()
	flags.StringVar(&admin, "admin", caddy.DefaultAdminListen, "Address of Caddy's admin endpoint, unix//path for a socket")
	flags.Uint16Var(&port, "port", 0, "Port of the loopback address where the page is served (default: any that is free)")
	asJSON := jsonFlag(cmd)
	cmd.RunE = verb(func(cmd *cobra.Command, args []string) int {
		if len(args) > 0 {
			return usageError(cmd, "console takes flags only, not %q", args[0])
		}
		relay, err := newConsoleRelay(admin)
		if err != nil {
			return usageError(cmd, "--admin: %v", err)
		}
		defer relay.close()
		return runConsole(cmd, relay, port, *asJSON)
	})
	return cmd
}

func runConsole(cmd *cobra.Command, relay *consoleRelay, port uint16, asJSON bool) int {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if fault := relay.reach(ctx); fault != nil {
		if asJSON {
			printJSON(cmd, consoleStart{Admin: relay.shown, Failure: fault})
		}
		cmd.PrintErrf("%s\n", visible(fault.Text))
		return exitFindings
	}
	if !relay.local() {
		cmd.PrintErrln("Warning: the admin endpoint is not on this machine. Tokens that are pasted into the console go there in the clear.")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return usageError(cmd, "--port: %v", err)
	}
	c := newConsole(listener.Addr().String(), relay)
	c.checking = (&consoleProgress{cmd: cmd}).begin
	server := &http.Server{
		Handler: c, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if asJSON {
		printJSON(cmd, consoleStart{URL: c.link(), Admin: relay.shown})
	} else {
		fmt.Fprintln(cmd.OutOrStdout(), c.link())
		cmd.PrintErrf("Open this link, which works once. The console ends with Ctrl-C.\n")
	}
	// Live views end with ctx and would otherwise be waited for.
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		cmd.PrintErrf("serving the console: %v\n", err)
		return exitFindings
	}
	return exitClean
}

// consoleProgress shows on a terminal that checks are under way.
type consoleProgress struct {
	cmd     *cobra.Command
	mu      sync.Mutex
	running int
	line    *progress
}

// begin shows a check until end is called, and what say is told of it.
func (p *consoleProgress) begin() (say func(what string), end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running++; p.running == 1 {
		p.line = showProgress(p.cmd)
	}
	p.line.show("checking for the console")
	say = func(what string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.running > 0 {
			p.line.show("checking for the console: " + visible(what))
		}
	}
	return say, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.running--; p.running == 0 {
			p.line.end()
		}
	}
}
