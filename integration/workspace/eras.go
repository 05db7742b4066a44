package workspace

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	versionHeader = "MCP-Protocol-Version"

	// firstModern is the first protocol revision without sessions. Revisions are
	// ISO dates and compare as strings.
	firstModern = "2026-07-28"

	// sessionTimeout ends legacy sessions whose client went away without DELETE.
	sessionTimeout = 30 * time.Minute
)

// newEndpoint returns the one endpoint of both eras. The protocol library serves
// the modern era only without sessions and the legacy era fully only with them,
// so there are two handlers over one server, chosen for each request.
func newEndpoint(server *mcp.Server, cfg Config) http.Handler {
	serve := func(*http.Request) *mcp.Server { return server }

	legacy := mcp.NewStreamableHTTPHandler(serve, &mcp.StreamableHTTPOptions{
		JSONResponse:   cfg.JSON,
		Logger:         cfg.Logger,
		SessionTimeout: sessionTimeout,
	})
	modern := mcp.NewStreamableHTTPHandler(serve, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		JSONResponse:                 cfg.JSON,
		Logger:                       cfg.Logger,
		PropagateRequestCancellation: true,
	})

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isModern(r) {
			modern.ServeHTTP(w, r)
			return
		}

		legacy.ServeHTTP(w, r)
	})
}

// isModern reports whether the request belongs to the era without sessions. The
// header decides; without one the body does, so that a modern request that lost
// its header gets the modern era's complaint instead of a session error.
func isModern(r *http.Request) bool {
	if version := r.Header.Get(versionHeader); version != "" {
		return version >= firstModern
	}

	return envelopeOf(r).Params.Meta.Version >= firstModern
}

// envelope is as much of a JSON-RPC message as this package must look at itself.
type envelope struct {
	Method string `json:"method"`
	Params struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// envelopeOf reads the body's envelope and puts the body back. What cannot be
// read stays zero: complaining is the protocol library's work.
func envelopeOf(r *http.Request) envelope {
	var env envelope
	if r.Method != http.MethodPost || r.Body == nil {
		return env
	}

	// An error of the body comes again when the library reads on from here.
	body, _ := io.ReadAll(io.LimitReader(r.Body, mcp.DefaultMaxRequestBodyBytes))
	r.Body = rejoined{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	_ = json.Unmarshal(body, &env)

	return env
}

// rejoined is a body whose beginning was read and put back in front.
type rejoined struct {
	io.Reader
	io.Closer
}
