package token

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// rediscoverAfter is how long the key set's address from the metadata is used
// before it is looked up again; a failed fetch of the keys ends it at once.
const rediscoverAfter = 24 * time.Hour

// discovered is the key set's address found in the issuer's metadata.
type discovered struct {
	jwksURL string
	at      time.Time
	outside bool // whether the issuer is out on the internet
}

// IssuerMetadataURLs returns the addresses of an issuer's metadata in the
// order in which they are tried: RFC 8414 §3.1, OpenID Connect Discovery with
// the path inserted likewise (RFC 8414 §5), and as originally defined.
func IssuerMetadataURLs(issuer string) ([]string, error) {
	if err := checkIssuer(issuer, true); err != nil {
		return nil, err
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, fmt.Errorf("parsing issuer: %w", err)
	}

	origin := u.Scheme + "://" + u.Host
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	urls := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		urls = append(urls, origin+path+"/.well-known/openid-configuration")
	}

	return urls, nil
}

// checkIssuer judges an issuer identifier (RFC 8414 §2).
func checkIssuer(issuer string, insecure bool) error {
	u, err := parseURL(issuer, insecure)
	if err != nil {
		return err
	}
	if u.RawQuery != "" || u.ForceQuery {
		return fmt.Errorf("the URL %q must not have a query", RedactURL(issuer))
	}

	return nil
}

// keySetURL returns the configured address or the discovered one.
func (k *KeyHolder) keySetURL(ctx context.Context) (string, error) {
	if k.config.JWKSURL != "" {
		return k.config.JWKSURL, nil
	}
	if d := k.discovered; d.jwksURL != "" && k.now().Sub(d.at) < rediscoverAfter {
		return d.jwksURL, nil
	}

	var outside atomic.Bool
	address, err := k.discover(k.noteOutside(ctx, &outside))
	if err != nil {
		return "", fmt.Errorf("discovering key set of issuer %q: %w", k.config.Issuer, err)
	}
	k.discovered = discovered{jwksURL: address, at: k.now(), outside: outside.Load()}

	return address, nil
}

// discover tries the metadata addresses until one answers with metadata that
// belongs to the issuer.
func (k *KeyHolder) discover(ctx context.Context) (string, error) {
	addresses, err := IssuerMetadataURLs(k.config.Issuer)
	if err != nil {
		return "", err
	}

	var failures []string
	for _, address := range addresses {
		jwksURL, err := k.jwksURLFrom(ctx, address)
		if err == nil {
			return jwksURL, nil
		}
		failures = append(failures, fmt.Sprintf("%s: %v", address, err))
		if ctx.Err() != nil {
			break
		}
	}

	return "", errors.New(strings.Join(failures, "; "))
}

func (k *KeyHolder) jwksURLFrom(ctx context.Context, address string) (string, error) {
	resp, body, err := get(ctx, k.client, address, "application/json", "") //nolint:bodyclose // get closes it
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	metadata, err := issuerMetadata(body, k.config.Issuer)
	if err != nil {
		return "", err
	}
	jwksURL, _ := metadata["jwks_uri"].(string)
	// A secure issuer must not send us to insecure keys, not even on loopback.
	if strings.HasPrefix(k.config.Issuer, "https:") && !strings.HasPrefix(jwksURL, "https:") {
		return "", fmt.Errorf("\"jwks_uri\" %q is missing or not https", shorten(jwksURL))
	}
	if err := CheckURL(jwksURL, k.config.AllowInsecure); err != nil {
		return "", fmt.Errorf("\"jwks_uri\": %w", err)
	}

	return jwksURL, nil
}
