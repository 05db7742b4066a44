package token

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// fetchTimeout bounds one request from dialling to the last byte.
	fetchTimeout = 10 * time.Second
	// maxRedirects bounds redirects, which must stay on the same origin.
	maxRedirects = 3
	// maxDrain bounds what is read from a body only to reuse its connection.
	maxDrain = 64 << 10
)

// fetchResult is a good answer.
type fetchResult struct {
	set    *keySet // nil if the server confirmed the set we have
	url    string
	etag   string
	maxAge time.Duration // -1 if the answer gives none
}

// newClient returns a client that shares nothing with the rest of the process:
// http.DefaultClient has no timeout, and its transport may be anybody's.
func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.DialContext = dialer().DialContext
		own.MaxResponseHeaderBytes = 64 << 10
		own.MaxIdleConnsPerHost = 1
		own.IdleConnTimeout = 30 * time.Second
		transport = own
	}

	return &http.Client{
		Transport: transport,
		Timeout:   fetchTimeout,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
				return errors.New("redirected to another origin")
			}
			return nil
		},
	}
}

// fetch gets the key set once.
func (k *KeyHolder) fetch(ctx context.Context) (fetchResult, error) {
	address, err := k.keySetURL(ctx)
	if err != nil {
		return fetchResult{}, err
	}

	etag := ""
	if s := k.current.Load(); s != nil && s.url == address {
		etag = s.etag
	}
	result, err := k.fetchKeySet(ctx, address, etag)
	if err != nil {
		// The issuer may have moved its key set.
		k.discovered = discovered{}
		return fetchResult{url: address}, fmt.Errorf("fetching key set: %w", err)
	}

	return result, nil
}

func (k *KeyHolder) fetchKeySet(ctx context.Context, address, etag string) (fetchResult, error) {
	result := fetchResult{url: address}
	resp, body, err := get(k.guarded(ctx), k.client, address, "application/jwk-set+json, application/json", etag) //nolint:bodyclose // get closes it
	if err != nil {
		return result, err
	}

	result.maxAge = maxAge(resp.Header)
	switch {
	case resp.StatusCode == http.StatusNotModified && etag != "":
		return result, nil
	case resp.StatusCode != http.StatusOK:
		return result, fmt.Errorf("status %d", resp.StatusCode)
	}
	result.etag = resp.Header.Get("ETag")
	result.set, err = parseKeySet(body)

	return result, err
}

// get reads a small document. The body is always closed, and read to its end
// if that is near.
func get(ctx context.Context, client *http.Client, address, accept, etag string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("building request: %w", err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "caddy-mcp-app")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}

	resp, err := client.Do(req)
	if err != nil {
		// The address, which *url.Error repeats, may carry a secret.
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()

	if resp.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
		return resp, nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySetBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading answer: %w", err)
	}
	if len(body) > maxKeySetBytes {
		return nil, nil, errors.New("the answer is longer than 1 MiB")
	}

	return resp, body, nil
}

// maxAge returns how long the answer may be kept (RFC 9111 §5.2.2, §5.1): zero
// if it forbids that, -1 if it does not say.
func maxAge(h http.Header) time.Duration {
	age := time.Duration(-1)
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			// The bound is far beyond any use and keeps the product in range.
			if s, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				age = time.Duration(s) * time.Second
			}
		}
	}
	if age < 0 {
		return age
	}
	if s, err := strconv.ParseUint(h.Get("Age"), 10, 31); err == nil {
		age -= time.Duration(s) * time.Second
	}

	return max(age, 0)
}
