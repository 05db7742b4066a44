// Package stack runs the gateway with real parts around it: the sample
// workspace server, a token issuer, and Caddy with a given Caddyfile, all on
// free loopback ports of one process.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard" // what a Caddyfile may use

	_ "github.com/caddy-mcp-app/caddy-mcp-app/caddymodule" // the module under test
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/freeport"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace"
)

// Config says what to run.
type Config struct {
	// Caddyfile is the text of the configuration. {$GATEWAY_PORT}, {$WORKSPACE},
	// {$ISSUER} and {$GATEWAY_LOG} in it are filled in.
	Caddyfile []byte
	// Workspace configures the sample server.
	Workspace workspace.Config
	// Upstream replaces the sample server by another handler.
	Upstream http.Handler
}

// Stack is what runs. Caddy is one per process, and so is a Stack.
type Stack struct {
	Workspace *workspace.Server
	Issuer    *issuer.Running
	Port      int
	LogFile   string

	upstream *http.Server
	dir      string
}

// Start runs everything and returns when the gateway accepts connections.
func Start(ctx context.Context, c Config) (s *Stack, err error) {
	s = &Stack{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "mcp-app-"); err != nil {
		return s, err
	}
	s.LogFile = filepath.Join(s.dir, "gateway.log")
	if s.Issuer, err = issuer.Start(ctx); err != nil {
		return s, fmt.Errorf("starting the issuer: %w", err)
	}
	handler := c.Upstream
	if handler == nil {
		if s.Workspace, err = workspace.Open(ctx, c.Workspace); err != nil {
			return s, fmt.Errorf("starting the workspace: %w", err)
		}
		handler = s.Workspace.Handler()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to cancel: it listens or fails at once
	if err != nil {
		return s, err
	}
	s.upstream = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.upstream.Serve(listener) }() // ends with Close
	if s.Port, err = freeport.Get(); err != nil {
		return s, err
	}
	return s, s.load(c.Caddyfile, listener.Addr().String())
}

// Reload replaces the gateway's configuration.
func (s *Stack) Reload(caddyfile []byte) error { return s.load(caddyfile, os.Getenv("WORKSPACE")) }

// Close stops everything.
func (s *Stack) Close() error {
	problems := []error{caddy.Stop()}
	if s.Workspace != nil {
		// Before its listener: open streams would keep that waiting.
		problems = append(problems, s.Workspace.Close())
	}
	if s.upstream != nil {
		problems = append(problems, s.upstream.Close())
	}
	if s.Issuer != nil {
		problems = append(problems, s.Issuer.Close())
	}
	if s.dir != "" {
		problems = append(problems, os.RemoveAll(s.dir))
	}
	return errors.Join(problems...)
}

// URL is the endpoint as a tenant's users know it.
func (s *Stack) URL(tenant string) string {
	return fmt.Sprintf("http://%s.localhost:%d/mcp", tenant, s.Port)
}

// Transport reaches the gateway under any host name without asking DNS, which
// does not know *.localhost everywhere.
func (s *Stack) Transport() *http.Transport {
	address := fmt.Sprintf("127.0.0.1:%d", s.Port)
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
}

// quiet keeps Caddy's start-up line, written before a configuration says where
// logs go, out of what the caller prints.
var quiet = sync.OnceFunc(func() { _, _, _ = caddy.BufferedLog() })

func (s *Stack) load(caddyfile []byte, upstream string) error {
	for name, value := range map[string]string{
		"GATEWAY_PORT": fmt.Sprint(s.Port),
		"GATEWAY_LOG":  "file " + s.LogFile,
		"WORKSPACE":    upstream,
		"ISSUER":       s.Issuer.URL,
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	config, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt(caddyfile, map[string]any{"filename": "Caddyfile"})
	if err != nil {
		return fmt.Errorf("adapting the Caddyfile: %w", err)
	}
	for _, warning := range warnings {
		if warning.Message != "Caddyfile input is not formatted; run 'caddy fmt --overwrite' to fix inconsistencies" {
			return fmt.Errorf("adapting the Caddyfile: %s", warning)
		}
	}
	if config, err = s.withOwnStorage(config); err != nil {
		return err
	}
	quiet()
	if err := caddy.Load(config, true); err != nil {
		return fmt.Errorf("loading the Caddyfile: %w", err)
	}
	return nil
}

// withOwnStorage keeps what the gateway stores (its keys) out of the storage of
// a Caddy that the user may have.
func (s *Stack) withOwnStorage(config []byte) ([]byte, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(config, &parts); err != nil {
		return nil, fmt.Errorf("reading the adapted configuration: %w", err)
	}
	if parts["storage"] == nil {
		storage, err := json.Marshal(map[string]string{"module": "file_system", "root": filepath.Join(s.dir, "storage")})
		if err != nil {
			return nil, err
		}
		parts["storage"] = storage
	}
	return json.Marshal(parts)
}
