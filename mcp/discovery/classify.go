package discovery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// classify turns a failure into a class and our own words. ctx is that of the
// whole discovery.
func (d *discovery) classify(ctx context.Context, err error) *Error {
	e := &Error{During: d.asking, cause: err}
	refusal, refused := errors.AsType[*mcp.RefusalError](err)
	switch {
	case refused:
		d.classifyRefusal(e, refusal)
	case errors.Is(ctx.Err(), context.Canceled):
		e.Class, e.Detail = Canceled, "given up"
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		e.Class, e.Detail = Timeout, "no complete answer in time"
	case errors.Is(err, rawjson.ErrTooDeep):
		e.Class, e.Detail = TooLarge, fmt.Sprintf("JSON nested deeper than %d levels", mcp.DefaultDepth)
	case errors.Is(err, mcp.ErrTooLarge):
		e.Class, e.Detail = TooLarge, Clean(err.Error(), MaxText, d.secrets)
	case errors.Is(err, mcp.ErrMalformed):
		e.Class, e.Detail = Malformed, Clean(err.Error(), MaxText, d.secrets)
		if !d.report.Handshake.Exists() {
			e.Class, e.Detail = NotMCP, "the answer is no MCP"
		}
	default:
		ClassifyConnection(e, err)
	}
	return e
}

// ClassifyConnection fills in what kind of failure of a connection err is.
func ClassifyConnection(e *Error, err error) {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which may hold a key
	}
	certificate, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, isRecord := errors.AsType[tls.RecordHeaderError](err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	operation, isOperation := errors.AsType[*net.OpError](err)
	switch {
	case isCertificate:
		e.Class, e.Detail = Untrusted, "the certificate is not trusted"
		if _, ok := errors.AsType[x509.HostnameError](certificate); ok {
			e.Detail = "the certificate is for another name"
		}
	case isRecord || errors.Is(err, http.ErrSchemeMismatch):
		e.Class, e.Detail = Untrusted, "no TLS is spoken there"
	case isDNS && dns.IsNotFound:
		e.Class, e.Detail = Unreachable, "the host name is not known"
	case isDNS:
		e.Class, e.Detail = Unreachable, "the host name could not be looked up"
	case isOperation && operation.Op == "dial":
		e.Class, e.Detail = Unreachable, "no connection can be made"
	default:
		e.Class, e.Detail = Protocol, "the connection was broken off"
	}
}

// classifyRefusal describes an answer that is none to the question.
func (d *discovery) classifyRefusal(e *Error, refusal *mcp.RefusalError) {
	e.Status = refusal.Status
	code, hasCode := refusal.Code()
	e.Code = code
	if message, ok := refusal.RPC.Get("message").Text(); ok {
		e.Remote = Clean(message, MaxText, d.secrets)
	}
	e.Class, e.Detail = StatusClass(refusal.Status), fmt.Sprintf("the server answers %d", refusal.Status)
	if e.Class == Redirect {
		e.Detail += d.redirectedTo(refusal.Header.Get("Location"))
	}
	if e.Class != "" {
		return
	}
	if hasCode {
		e.Detail = fmt.Sprintf("the server answers with error %d", code)
	}
	switch {
	case d.report.Handshake.Exists(), hasCode, refusal.Status >= http.StatusInternalServerError:
		e.Class = ServerFault
	default:
		e.Class = NotMCP
	}
}

// StatusClass returns the class of HTTP statuses that mean the same wherever
// they come from, and nothing for others.
func StatusClass(status int) Class {
	switch status {
	case http.StatusUnauthorized:
		return Authentication
	case http.StatusForbidden:
		return Forbidden
	case http.StatusTooManyRequests:
		return RateLimited
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Unavailable
	default:
		if status/100 == 3 {
			return Redirect
		}
		return ""
	}
}

// redirectedTo shows where a redirect leads, without what may be secret in it.
func (d *discovery) redirectedTo(location string) string {
	base, err := url.Parse(d.target.URL)
	if err != nil || location == "" {
		return ""
	}
	to, err := base.Parse(location)
	if err != nil {
		return ""
	}
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	return " and leads to " + Clean(to.String(), MaxText, d.secrets)
}
