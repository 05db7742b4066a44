package token

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// maxIssuerDocument bounds a document that is passed on to anybody.
	maxIssuerDocument = 256 << 10
	// minDocumentAge and maxDocumentAge bound what Cache-Control asks for.
	minDocumentAge = time.Minute
	maxDocumentAge = time.Hour
	// documentWait is how long one caller waits for the authorization server.
	documentWait = 3 * time.Second
	// documentRetry is how long nobody is asked after a failure.
	documentRetry = 10 * time.Second
)

// IssuerDocument keeps the metadata of one authorization server (RFC 8414 §3.2),
// to be handed out where clients look for it at the resource's host. It is asked
// for when somebody wants it, once for all who wait, without anything of their
// requests; kept as long as its Cache-Control says, between a minute and an
// hour; and outlives an outage by 24 hours. It is safe for concurrent use.
type IssuerDocument struct {
	issuer string
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex
	body    []byte // the last good one
	fetched time.Time
	fresh   time.Time // until when it is not asked for again
	err     error     // of the last attempt
	retry   time.Time // not before
	flight  chan struct{}
}

// NewIssuerDocument prepares the metadata of an issuer, https or http on
// loopback. Nothing is asked yet. transport may be nil, see [KeyConfig].
func NewIssuerDocument(issuer string, transport http.RoundTripper) (*IssuerDocument, error) {
	if err := checkIssuer(issuer, false); err != nil {
		return nil, err
	}

	return &IssuerDocument{issuer: issuer, client: newClient(transport), now: time.Now}, nil
}

// Get returns the document as the authorization server wrote it, at most 256 KiB.
// An error says that there is none that may be passed on.
func (d *IssuerDocument) Get(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, documentWait)
	defer cancel()
	landed := d.takeOff()
	if landed != nil {
		select {
		case <-landed:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.body != nil && d.now().Sub(d.fetched) < DefaultMaxStale:
		return d.body, nil
	case d.err != nil:
		return nil, d.err
	default:
		return nil, fmt.Errorf("metadata of issuer %q: %w", d.issuer, ctx.Err())
	}
}

// Close gives connections back.
func (d *IssuerDocument) Close() { d.client.CloseIdleConnections() }

// takeOff asks for the document if it is time to, and returns what is closed when
// the answer is there, nil if nobody is asked.
func (d *IssuerDocument) takeOff() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.flight == nil && now.Before(d.fresh) || now.Before(d.retry) {
		return nil
	}
	if d.flight == nil {
		d.flight = make(chan struct{})
		go d.fly(d.flight)
	}

	return d.flight
}

// fly asks once, on behalf of nobody in particular.
func (d *IssuerDocument) fly(landed chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	body, age, err := d.fetch(ctx)

	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.err = err; err != nil {
		d.retry = now.Add(documentRetry)
	} else {
		d.body, d.fetched, d.fresh = body, now, now.Add(age)
	}
	d.flight = nil
	close(landed)
}

// fetch tries the metadata addresses until one answers with metadata that belongs
// to the issuer.
func (d *IssuerDocument) fetch(ctx context.Context) ([]byte, time.Duration, error) {
	addresses, err := IssuerMetadataURLs(d.issuer)
	if err != nil {
		return nil, 0, err
	}
	var failures []string
	for _, address := range addresses {
		body, age, err := d.fetchFrom(ctx, address)
		if err == nil {
			return body, age, nil
		}
		failures = append(failures, fmt.Sprintf("%s: %v", address, err))
		if ctx.Err() != nil {
			break
		}
	}

	return nil, 0, fmt.Errorf("metadata of issuer %q: %s", d.issuer, strings.Join(failures, "; "))
}

func (d *IssuerDocument) fetchFrom(ctx context.Context, address string) ([]byte, time.Duration, error) {
	resp, body, err := get(ctx, d.client, address, "application/json", "") //nolint:bodyclose // get closes it
	switch {
	case err != nil:
		return nil, 0, err
	case resp.StatusCode != http.StatusOK:
		return nil, 0, fmt.Errorf("status %d", resp.StatusCode)
	case len(body) > maxIssuerDocument:
		return nil, 0, fmt.Errorf("the answer is longer than %d bytes", maxIssuerDocument)
	}
	metadata, err := issuerMetadata(body, d.issuer)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri", "registration_endpoint"} {
		value, given := metadata[name]
		if !given {
			continue
		}
		text, _ := value.(string)
		// A secure issuer must not send clients to insecure places.
		if strings.HasPrefix(d.issuer, "https:") && !strings.HasPrefix(text, "https:") {
			return nil, 0, fmt.Errorf("%q is not https", name)
		}
	}
	age := maxAge(resp.Header)
	if age < 0 {
		age = refreshByDefault
	}

	return body, min(max(age, minDocumentAge), maxDocumentAge), nil
}

// issuerMetadata reads metadata and sees that it is that of an issuer: otherwise
// one issuer of a host could speak for another (RFC 8414 §3.3).
func issuerMetadata(body []byte, issuer string) (map[string]any, error) {
	metadata, err := strict.Object(body)
	if err != nil {
		return nil, fmt.Errorf("reading metadata: %w", err)
	}
	if named, _ := metadata["issuer"].(string); named != issuer {
		return nil, fmt.Errorf("the metadata is of issuer %q", shorten(named))
	}

	return metadata, nil
}
