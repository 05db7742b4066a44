package membership

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

const (
	// MaxTTL bounds how long a removed member may go on.
	MaxTTL = 30 * time.Second
	// Strangers become members while they wait; they are asked for again soon.
	negativeTTL = 5 * time.Second
	// A service that is down is not asked for the same subject with every
	// message.
	faultTTL = time.Second

	defaultTimeout = 2 * time.Second
	// maxAnswer bounds the body of an answer.
	maxAnswer = 64 << 10
)

// HTTPConfig describes a membership service:
//
//	GET <url>?issuer=…&subject=…&tenant=…
//	200 {"member":true,"roles":["editor"],"scopes":["cad.read"]}
//
// or, with the method POST, the question as the JSON object
// {"issuer":"…","subject":"…","tenant":"…"} in the body, so that nobody's name
// ends up in the access log of the service.
//
// The status 404, or "member":false, is no member. Any other answer is none at
// all. Roles and scopes may be left out; an empty list of scopes leaves the
// member none.
type HTTPConfig struct {
	// URL of the service. Its query is kept.
	URL string `json:"url"`
	// Method of the question: GET, with the question in the query, or POST, with
	// it as a JSON object in the body. Default: GET.
	Method string `json:"method,omitempty"`
	// Header lines for the request, such as an API key.
	Header map[string][]string `json:"header,omitempty"`
	// Timeout of a question. Default: 2s.
	Timeout policy.Duration `json:"timeout,omitempty"`
	// TTL is how long a yes is remembered; at most 30s, the default. A no is
	// remembered for 5s at most.
	TTL policy.Duration `json:"ttl,omitempty"`
	// PlainHTTP permits http:// to other machines, where anybody on the way
	// could make members. Default: false.
	PlainHTTP bool `json:"plain_http,omitempty"`

	// Transport is for tests. Default: one of its own.
	Transport http.RoundTripper `json:"-"`
}

// HTTP is a [Source] that asks a service.
type HTTP struct {
	url     *url.URL
	method  string
	header  http.Header
	timeout time.Duration
	ttl     time.Duration
	client  *http.Client
	cache   answerCache

	closed context.Context
	close  context.CancelFunc
}

// NewHTTP checks the configuration. It asks nobody yet.
func NewHTTP(config HTTPConfig) (*HTTP, error) {
	parsed, err := url.Parse(config.URL)
	switch {
	case err != nil:
		return nil, errors.New("members http: the URL does not parse") // nor is it quoted: it may hold a password
	case parsed.User != nil:
		return nil, fmt.Errorf("members http at %s: write an https URL without user, and what the service wants to know into a header line", parsed.Host)
	case parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" || parsed.Fragment != "":
		return nil, fmt.Errorf("members http %q: write an https URL without a fragment", config.URL)
	case parsed.Scheme == "http" && !config.PlainHTTP && !loopback(parsed.Hostname()):
		return nil, fmt.Errorf("members http %q: anybody on the way could make members; write https, or plain_http if the network is yours", config.URL)
	case config.Method != "" && config.Method != http.MethodGet && config.Method != http.MethodPost:
		return nil, fmt.Errorf("members http: method %q: write GET or POST", config.Method)
	case config.Timeout < 0 || config.TTL < 0 || time.Duration(config.TTL) > MaxTTL:
		return nil, fmt.Errorf("members http: timeout and ttl are above zero, and ttl is at most %v, so that removed members are out by then", MaxTTL)
	}
	h := &HTTP{url: parsed, method: cmp.Or(config.Method, http.MethodGet), header: make(http.Header), timeout: time.Duration(config.Timeout), ttl: time.Duration(config.TTL)}
	if h.timeout == 0 {
		h.timeout = defaultTimeout
	}
	if h.ttl == 0 {
		h.ttl = MaxTTL
	}
	for name, lines := range config.Header {
		for _, line := range lines {
			h.header.Add(name, line)
		}
	}
	if h.header.Get("Accept") == "" {
		h.header.Set("Accept", "application/json")
	}
	h.client = &http.Client{
		Transport: config.Transport,
		// An answer from elsewhere is not the service's.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if h.client.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 16
		transport.MaxConnsPerHost = 64
		h.client.Transport = transport
	}
	h.closed, h.close = context.WithCancel(context.Background())
	return h, nil
}

// Member implements Source. Equal questions at the same time are asked once;
// whoever leaves does not take the answer from the others.
func (h *HTTP) Member(ctx context.Context, issuer, subject, tenant string) (Membership, error) {
	return h.cache.get(ctx, Identity{issuer, subject, tenant}, h.ask)
}

// Close breaks off what is being asked, and lets connections go.
func (h *HTTP) Close() {
	h.close()
	h.client.CloseIdleConnections()
}

// ask puts the question and says until when the answer holds, counted from the
// question: what was true then may have changed since.
func (h *HTTP) ask(who Identity) answer {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(h.closed, h.timeout)
	defer cancel()
	m, err := h.question(ctx, who)
	switch {
	case err != nil:
		return answer{err: fmt.Errorf("%w: %w", ErrUnavailable, err), until: time.Now().Add(faultTTL)}
	case !m.Member:
		return answer{until: asked.Add(min(h.ttl, negativeTTL))}
	default:
		return answer{membership: m, until: asked.Add(h.ttl)}
	}
}

func (h *HTTP) question(ctx context.Context, who Identity) (Membership, error) {
	request, err := h.request(ctx, who)
	if err != nil {
		return Membership{}, err
	}
	response, err := h.client.Do(request)
	if err != nil {
		return Membership{}, hideQuery(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case response.StatusCode == http.StatusNotFound:
		return Membership{}, nil
	case response.StatusCode != http.StatusOK:
		return Membership{}, fmt.Errorf("the service answered with status %d", response.StatusCode)
	case err != nil:
		return Membership{}, fmt.Errorf("reading the answer: %w", err)
	case len(body) > maxAnswer:
		return Membership{}, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	}
	return parseAnswer(body)
}

// request puts the question into words.
func (h *HTTP) request(ctx context.Context, who Identity) (*http.Request, error) {
	header := h.header.Clone()
	target := *h.url
	var body io.Reader
	if h.method == http.MethodPost {
		question, err := json.Marshal(struct {
			Issuer  string `json:"issuer"`
			Subject string `json:"subject"`
			Tenant  string `json:"tenant"`
		}(who))
		if err != nil {
			return nil, errors.New("the question cannot be written as JSON")
		}
		body = bytes.NewReader(question)
		header.Set("Content-Type", "application/json")
	} else {
		query := target.Query()
		query.Set("issuer", who.Issuer)
		query.Set("subject", who.Subject)
		query.Set("tenant", who.Tenant)
		target.RawQuery = query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, h.method, target.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header = header
	return request, nil
}

// parseAnswer reads an answer. Members of other names are the service's own
// business.
func parseAnswer(body []byte) (Membership, error) {
	var given struct {
		Member *bool          `json:"member"`
		Roles  jsontext.Value `json:"roles"`
		Scopes jsontext.Value `json:"scopes"`
	}
	if err := json.Unmarshal(body, &given); err != nil {
		return Membership{}, errors.New("the answer is not the JSON object that was asked for")
	}
	if given.Member == nil {
		return Membership{}, errors.New(`the answer does not say "member"`)
	}
	if !*given.Member {
		return Membership{}, nil
	}
	m := Membership{Member: true}
	var err error
	if m.Roles, err = names(given.Roles); err != nil {
		return Membership{}, fmt.Errorf("roles in the answer: it %w", err)
	}
	if m.Scopes, err = names(given.Scopes); err != nil {
		return Membership{}, fmt.Errorf("scopes in the answer: it %w", err)
	}
	return m, nil
}

// hideQuery takes the URL out of an error: it names the subject.
func hideQuery(err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		return inner.Err
	}
	return err
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && net.IP(addr.AsSlice()).IsLoopback()
}
