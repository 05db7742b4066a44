package token

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// DefaultCallTimeout bounds one call of an introspection or token endpoint
	// from dialling to the last byte. A message of a client waits for it.
	DefaultCallTimeout = 5 * time.Second
	// maxCallTimeout is about how long clients of MCP servers wait at all.
	maxCallTimeout = 30 * time.Second
	// maxAnswerBytes bounds one answer. Real ones take 0.3 to 8 KiB.
	maxAnswerBytes = 64 << 10
)

// AuthMethod is a way to authenticate at an endpoint of an authorization
// server.
type AuthMethod string

const (
	// ClientSecretBasic sends id and secret as HTTP Basic credentials (RFC 6749
	// §2.3.1), both form-encoded as that section asks for. It is the default.
	ClientSecretBasic AuthMethod = "client_secret_basic"
	// ClientSecretPost sends id and secret in the form, for servers that do not
	// know the other way.
	ClientSecretPost AuthMethod = "client_secret_post"
	// ClientBearer sends the secret as a bearer token (RFC 7662 §2.1); there is
	// no client id.
	ClientBearer AuthMethod = "bearer"
	// ClientNone sends at most the client id. It is for servers that know us by
	// our network or our certificate.
	ClientNone AuthMethod = "none"
)

// ClientConfig says who we are to an authorization server. It prints without
// the secret.
type ClientConfig struct {
	ClientID     string
	ClientSecret string

	// AuthMethod is how they are sent. Empty means ClientSecretBasic.
	AuthMethod AuthMethod
}

func (c ClientConfig) String() string {
	return fmt.Sprintf("client %q by %s", c.ClientID, c.AuthMethod)
}

// GoString keeps the secret out of %#v too.
func (c ClientConfig) GoString() string { return c.String() }

// authenticator checks the configuration and returns what adds the credentials
// to a request. The secret lives nowhere else, so that no struct that might be
// printed holds it.
func (c ClientConfig) authenticator() (func(http.Header, url.Values), error) {
	id, secret := c.ClientID, c.ClientSecret
	switch {
	case id != strings.TrimSpace(id) || secret != strings.TrimSpace(secret):
		return nil, errors.New("client id and secret must not begin or end with white space, such as the last line break of a file")
	case hasControl(id) || hasControl(secret):
		return nil, errors.New("client id and secret must not hold control characters")
	}

	switch c.AuthMethod {
	case "", ClientSecretBasic, ClientSecretPost:
		if id == "" || secret == "" {
			return nil, fmt.Errorf("a client id and a client secret are needed (or authentication method %s or %s)", ClientBearer, ClientNone)
		}
		if c.AuthMethod == ClientSecretPost {
			return func(_ http.Header, form url.Values) {
				form.Set("client_id", id)
				form.Set("client_secret", secret)
			}, nil
		}
		return func(header http.Header, _ url.Values) {
			r := http.Request{Header: header}
			r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		}, nil
	case ClientBearer:
		if id != "" || !isB64Token(secret) {
			return nil, fmt.Errorf("authentication method %s needs a token as client secret and no client id", ClientBearer)
		}
		return func(header http.Header, _ url.Values) { header.Set("Authorization", "Bearer "+secret) }, nil
	case ClientNone:
		if secret != "" {
			return nil, fmt.Errorf("a client secret contradicts authentication method %s", ClientNone)
		}
		return func(_ http.Header, form url.Values) {
			if id != "" {
				form.Set("client_id", id)
			}
		}, nil
	default:
		// A typing mistake must not turn authentication off.
		return nil, fmt.Errorf("unknown authentication method %q (%s, %s, %s or %s)",
			c.AuthMethod, ClientSecretBasic, ClientSecretPost, ClientBearer, ClientNone)
	}
}

// endpoint is where forms with tokens in them are posted to.
type endpoint struct {
	url          string
	client       *http.Client
	authenticate func(http.Header, url.Values)
}

func newEndpoint(address string, config ClientConfig, timeout time.Duration, concurrent int, transport http.RoundTripper) (*endpoint, error) {
	if err := CheckURL(address, false); err != nil {
		return nil, err
	}
	if timeout < 0 || timeout > maxCallTimeout {
		return nil, fmt.Errorf("the timeout must be between 0 and %s", maxCallTimeout)
	}
	authenticate, err := config.authenticator()
	if err != nil {
		return nil, err
	}

	client := newClient(transport)
	if own, ok := client.Transport.(*http.Transport); ok && transport == nil {
		own.MaxIdleConnsPerHost = concurrent
	}
	client.Timeout = timeout
	// A redirect would carry token and secret to wherever it points.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	return &endpoint{url: address, client: client, authenticate: authenticate}, nil
}

// reply is what an endpoint answered.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// post sends a form. The error is a *callError and says nothing about what
// was sent.
func (e *endpoint) post(ctx context.Context, form url.Values) (*reply, error) {
	header := make(http.Header)
	e.authenticate(header, form)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, &callError{reason: "building request failed"}
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "caddy-mcp-app")
	// Never sent, but lets the transport repeat the request if the server closed
	// an idle connection under it. Asking twice does no harm.
	req.Header["Idempotency-Key"] = nil

	resp, err := e.client.Do(req)
	if err != nil {
		return nil, noAnswer(err)
	}
	defer func() { _ = resp.Body.Close() }()

	var body bytes.Buffer
	if _, err := io.Copy(&body, io.LimitReader(resp.Body, maxAnswerBytes+1)); err != nil && resp.StatusCode == http.StatusOK {
		return nil, noAnswer(err)
	}
	if body.Len() > maxAnswerBytes {
		body.Reset()
		if resp.StatusCode == http.StatusOK {
			// Perhaps this token's alone: it does not count against the endpoint.
			return nil, &callError{reason: "the answer is longer than 64 KiB", status: resp.StatusCode}
		}
	}

	return &reply{status: resp.StatusCode, header: resp.Header, body: body.Bytes()}, nil
}
