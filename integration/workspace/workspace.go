// Package workspace is the sample MCP app server that stands behind the proxy
// in the demo and in every end-to-end test.
//
// It is an ordinary app of the kind the proxy exists for: decks and settings in
// SQLite, two pages, a prompt, a resource template, and nothing about any host,
// token or scope. It believes the identity headers of each HTTP request and has
// no other access control, so a request that reaches it unchecked is served.
// That makes leaks visible: the two tenants it is born with own different decks.
package workspace

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Endpoint is the path of the MCP endpoint; every other path is 404.
const Endpoint = "/mcp"

// Name and version the server introduces itself with.
const (
	serverName    = "workspace"
	serverVersion = "1.0.0"
)

// Config says where the data lives and how answers look on the wire.
type Config struct {
	// DSN is the path of the database file, made if it does not exist, or
	// ":memory:" for a database that ends with the server. Default: ":memory:".
	DSN string

	// Logger receives failures of the store and of the protocol library.
	// Default: nothing is logged.
	Logger *slog.Logger

	// JSON answers requests with one JSON object instead of an event stream.
	JSON bool

	// PageSize is the greatest number of items on one page of a list.
	// Zero means the protocol library's default of 1,000.
	PageSize int
}

// Server is one workspace. It is safe for concurrent use.
type Server struct {
	store *store
	mcp   *mcp.Server
	log   *slog.Logger

	calls    ring[Call]
	requests ring[Request]

	endpoint http.Handler

	closeOnce sync.Once
	closeErr  error
}

// Open opens the database, filling a new one with the decks of acme and globex,
// and builds the server. The context bounds the opening only.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}

	st, err := openStore(ctx, cfg.DSN)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}

	s := &Server{store: st, log: cfg.Logger}
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: serverName, Title: "Workspace", Version: serverVersion},
		&mcp.ServerOptions{
			Instructions: "Work with the decks of one workspace: list them, create them, open them.",
			Logger:       cfg.Logger,
			PageSize:     cfg.PageSize,
			Capabilities: &mcp.ServerCapabilities{}, // only what is registered below
		},
	)
	s.mcp.AddReceivingMiddleware(s.recordCalls)

	s.addDeckTools()
	s.addSettingsTools()
	s.addPages()
	s.addDeckResources()
	s.addPrompts()

	s.endpoint = newEndpoint(s.mcp, cfg)

	return s, nil
}

// Handler serves the workspace: the MCP endpoint at [Endpoint] and 404 elsewhere.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Recorded before anything can refuse it: "never reached" must mean that.
		s.recordRequest(r)

		if r.URL.Path != Endpoint {
			http.NotFound(w, r)
			return
		}

		s.endpoint.ServeHTTP(w, r)
	})
}

// Close ends all sessions with their streams and closes the database. Requests
// still on their way then fail. Closing twice is harmless.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		for session := range s.mcp.Sessions() {
			if err := session.Close(); err != nil {
				s.log.Debug("closing session", "error", err)
			}
		}

		if err := s.store.close(); err != nil {
			s.closeErr = fmt.Errorf("closing workspace: %w", err)
		}
	})

	return s.closeErr
}
