package token

import (
	"context"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// An issuer out on the internet that is taken over, or lies, could send us into
// the operator's own network by the "jwks_uri" of its metadata (RFC 8414 §6.2,
// RFC 9700 §4.14 on requests made in another's name). So an address that an
// issuer outside names has to be outside too. It is looked at
// when the connection is made, since names may resolve as their owner likes.
// Issuers inside, and addresses that the operator has written, are not asked.

// insideNetwork reports whether an address belongs to a machine, a private
// network or a link (RFC 1918, RFC 4193, RFC 6598 and others), and not to the
// internet.
func insideNetwork(address netip.AddrPort) bool {
	ip := address.Addr().Unmap()
	return !ip.IsGlobalUnicast() || ip.IsPrivate() || carrierNetwork.Contains(ip)
}

// carrierNetwork is shared address space (RFC 6598), where overlay networks and
// the metadata services of some clouds live.
var carrierNetwork = netip.MustParsePrefix("100.64.0.0/10")

type outsideOnly struct{}

// dialer is that of every client of ours.
func dialer() *net.Dialer {
	return &net.Dialer{Timeout: fetchTimeout, KeepAlive: 30 * time.Second, ControlContext: refuseInside}
}

// refuseInside ends a connection before it begins, if the request is for
// addresses outside only.
func refuseInside(ctx context.Context, _, address string, _ syscall.RawConn) error {
	inside, guarded := ctx.Value(outsideOnly{}).(func(netip.AddrPort) bool)
	if !guarded {
		return nil
	}
	if parsed, err := netip.ParseAddrPort(address); err != nil || inside(parsed) {
		return fmt.Errorf("the issuer is out on the internet and its \"jwks_uri\" leads to %s, which is inside; if that is meant, write jwks_url", address)
	}
	return nil
}

// noteOutside lets the context's request note whether it went outside.
func (k *KeyHolder) noteOutside(ctx context.Context, outside *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		address, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String())
		outside.Store(err == nil && !k.inside(address))
	}})
}

// guarded is the context of a request for a key set.
func (k *KeyHolder) guarded(ctx context.Context) context.Context {
	if !k.discovered.outside {
		return ctx
	}
	return context.WithValue(ctx, outsideOnly{}, k.inside)
}
