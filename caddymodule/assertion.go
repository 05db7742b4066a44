package caddymodule

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/assertion"
)

const (
	// assertionHeader follows the prefix of the identity headers, under which
	// clients can send nothing.
	assertionHeader = "Assertion"
	// assertionKeysPath is where servers find the keys to verify assertions.
	assertionKeysPath = "/.well-known/mcp-app/jwks.json"
)

// Assertion tells the server who calls in a form that it can verify: a JWT in
// the header X-Mcp-App-Assertion, signed with ES256, valid for 60 seconds. Its
// `iss` is the resource, its `sub` the subject, and `sub_id` names subject and
// issuer; `tenant`, `scope` and `client_id` are those of the token. The public
// keys are at /.well-known/mcp-app/jwks.json of the site.
type Assertion struct {
	// Audience is the `aud`, by which the server knows that it is meant.
	// Default: mcp-app-upstream.
	Audience string `json:"audience,omitempty"`
}

// parseAssertion reads:
//
//	assertion [<audience>]
func parseAssertion(into **Assertion) subdirective {
	return func(d *caddyfile.Dispenser) error {
		args := d.RemainingArgs()
		switch {
		case *into != nil:
			return d.Err("assertion already specified")
		case len(args) > 1:
			return d.Err("expected: assertion [<audience>]")
		}
		*into = &Assertion{}
		if len(args) == 1 {
			(*into).Audience = args[0]
		}
		return nil
	}
}

// assertions signs for one endpoint. A nil one signs nothing.
type assertions struct {
	keys     *assertion.Keys
	audience string
	release  func()
}

// openAssertions takes the keys of Caddy's storage, which is not visited yet.
// Without config it returns nil.
func openAssertions(ctx caddy.Context, config *Assertion) (*assertions, error) {
	if config == nil {
		return nil, nil
	}
	keys, release, err := acquireAssertionKeys(ctx.Storage())
	return &assertions{keys: keys, audience: config.Audience, release: release}, err
}

// close gives the keys back. They stay usable for requests that are running.
func (a *assertions) close() {
	if a != nil {
		_ = giveBack(&a.release)
	}
}

// header signs an assertion about the caller of an endpoint, which is good for
// one request. It is empty for callers without a token. An error is one of the
// storage.
func (a *assertions) header(ctx context.Context, p *policy.Principal, resource string) (string, error) {
	if a == nil || p.Subject == "" {
		return "", nil
	}
	return a.keys.Sign(ctx, assertion.Claims{
		Resource: resource, Audience: a.audience,
		Issuer: p.Issuer, Subject: p.Subject, Tenant: p.Tenant, ClientID: p.ClientID, Scopes: p.Scopes,
	})
}

// assert puts an assertion into a request that is about to be sent. It has to be
// the last step: two requests must not carry the same one, and a copy of the
// caller's request that is kept must carry none.
func (a *assertions) assert(r *http.Request, prefix string, p *policy.Principal, resource string) error {
	signed, err := a.header(r.Context(), p, resource)
	if signed != "" {
		r.Header.Set(prefix+assertionHeader, signed)
	}
	return err
}

// serveKeys answers with the public keys: open to everybody, and to be kept for
// less time than a new key is published before its use.
func (a *assertions) serveKeys(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return nil
	}
	document, err := a.keys.JWKS(r.Context())
	if err != nil {
		caddy.Log().Named("mcp_app.assertion").Error("assertion keys cannot be had", zap.Error(err))
		h.Set("Retry-After", "5")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		return nil
	}
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(assertion.MaxAge.Seconds())))
	h.Set("Content-Type", "application/jwk-set+json")
	h.Set("Content-Length", strconv.Itoa(len(document)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(document)
	return nil
}

// assertionPool shares the keys of a storage between endpoints and across
// reloads.
var assertionPool = caddy.NewUsagePool()

type pooledAssertionKeys struct{ *assertion.Keys }

// Destruct implements caddy.Destructor. Keys have nothing to close.
func (pooledAssertionKeys) Destruct() error { return nil }

func acquireAssertionKeys(storage certmagic.Storage) (*assertion.Keys, func(), error) {
	create := func() (caddy.Destructor, error) {
		return pooledAssertionKeys{assertion.New(assertion.Config{Storage: storage, OnProblem: logAssertionProblem, OnRotate: logAssertionKey})}, nil
	}
	// A storage that cannot be told from others has keys of its own here; they
	// agree with those of others through the storage itself.
	var id any = storage
	if !reflect.ValueOf(storage).Comparable() {
		id = new(int)
	}
	value, _, err := assertionPool.LoadOrNew(id, create)
	if err != nil {
		return nil, nil, err
	}
	return value.(pooledAssertionKeys).Keys, func() { _, _ = assertionPool.Delete(id) }, nil
}

func logAssertionProblem(err error) {
	caddy.Log().Named("mcp_app.assertion").Warn("assertion keys cannot be brought up to date; the last ones are used", zap.Error(err))
}

func logAssertionKey(kid string, useFrom time.Time) {
	caddy.Log().Named("mcp_app.assertion").Info("new assertion key", zap.String("kid", kid), zap.Time("use_from", useFrom))
}
