package token

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// exchangeGrant is the grant type of RFC 8693 §2.1.
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"

// Exchange returns a token for the upstream in place of a caller's, which must
// have been verified for this very request: what was exchanged before is
// returned without asking whether the caller's is still good. If audiences are
// given they replace the configured one, for upstreams whose name depends on the
// request.
//
// The result is shared and must not be changed. The error is always an
// *ExchangeError.
func (x *Exchanger) Exchange(ctx context.Context, token string, audiences ...string) (*UpstreamToken, error) {
	if len(token) > MaxTokenBytes || !isB64Token(token) {
		return nil, &ExchangeError{Kind: ExchangeDenied, Reason: "the caller's token is not a bearer token of at most 16 KiB"}
	}
	if len(audiences) == 0 && x.config.Audience != "" {
		audiences = []string{x.config.Audience}
	}

	upstream, err := x.inquiries.ask(ctx, exchangeKey(token, audiences), func(ctx context.Context) (kept[*UpstreamToken], error) {
		return x.exchange(ctx, token, audiences)
	})
	if err != nil {
		return nil, exchangeError(err)
	}

	return upstream, nil
}

// exchange asks the server once (RFC 8693 §2.1).
func (x *Exchanger) exchange(ctx context.Context, token string, audiences []string) (kept[*UpstreamToken], error) {
	form := url.Values{
		"grant_type":         {exchangeGrant},
		"subject_token":      {token},
		"subject_token_type": {AccessTokenType},
	}
	if len(audiences) > 0 {
		form["audience"] = slices.Clone(audiences)
	}
	for name, value := range map[string]string{
		"resource":             x.config.Resource,
		"scope":                strings.Join(x.config.Scopes, " "),
		"requested_token_type": x.config.RequestedTokenType,
	} {
		if value != "" {
			form.Set(name, value)
		}
	}

	asked := x.inquiries.now() // its life began no earlier
	r, err := x.inquiries.endpoint.post(ctx, form)
	if err != nil {
		return kept[*UpstreamToken]{}, err
	}
	if r.status != http.StatusOK {
		return kept[*UpstreamToken]{}, exchangeRefusal(statusFailure(r))
	}

	return readExchange(r.body, token, x.config.RequestedTokenType, asked)
}

// exchangeKey is unambiguous: every part is preceded by its length.
func exchangeKey(token string, audiences []string) [sha256.Size]byte {
	var b []byte
	for _, part := range append([]string{token}, audiences...) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}

	return sha256.Sum256(b)
}
