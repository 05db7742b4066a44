package token

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// TestAnIssuerOutsideSendsNobodyInside plays the internet and the operator's own
// network on loopback: which port belongs to which is what the test says.
func TestAnIssuerOutsideSendsNobodyInside(t *testing.T) {
	for _, tc := range []struct {
		name                       string
		issuerInside, keysInside   bool
		sameHost, writtenByTheUser bool
		want                       State
	}{
		{name: "keys outside too", want: Fresh},
		{name: "keys inside", keysInside: true, want: Down},
		{name: "an issuer inside", issuerInside: true, keysInside: true, want: Fresh},
		{name: "an issuer inside with keys outside", issuerInside: true, want: Fresh},
		{name: "the issuer's own host", sameHost: true, want: Fresh},
		{name: "keys inside, as the operator wrote", keysInside: true, writtenByTheUser: true, want: Fresh},
	} {
		t.Run(tc.name, func(t *testing.T) {
			keys := newKeyServer(t, k1())
			issuer := newKeyServer(t)
			address := keys.URL + "/latest/meta-data"
			if tc.sameHost {
				address = issuer.URL + "/keys"
			}
			issuer.serve(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/keys" {
					_, _ = w.Write(jwks(k1()))
					return
				}
				_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer.URL, address)
			})
			config := KeyConfig{Issuer: issuer.URL}
			if tc.writtenByTheUser {
				config.JWKSURL = address
			}
			k := newHolder(t, config)
			k.inside = func(a netip.AddrPort) bool {
				if a.Port() == portOf(t, keys.URL) {
					return tc.keysInside
				}
				return tc.issuerInside
			}
			k.Start()
			eventually(t, "the first fetch", func() bool { return k.Stats().State != Starting })
			s := k.Stats()
			if s.State != tc.want {
				t.Fatalf("state %s (%s), want %s", s.State, s.LastError, tc.want)
			}
			if tc.want == Down && (keys.fetches.Load() != 0 || !strings.Contains(s.LastError, "jwks_url")) {
				t.Errorf("%d requests went inside; the operator reads %q", keys.fetches.Load(), s.LastError)
			}
		})
	}
}

func portOf(t *testing.T, address string) uint16 {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(u.Host).Port()
}

func TestWhatIsInside(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.1.1": true, "169.254.169.254": true,
		"100.100.100.200": true, "0.0.0.0": true, "224.0.0.1": true, "255.255.255.255": true, "::1": true, "::": true,
		"fd00:ec2::254": true, "fe80::1": true, "::ffff:169.254.169.254": true, "::ffff:10.0.0.1": true,
		"93.184.215.14": false, "172.32.0.1": false, "100.128.0.1": false, "2606:2800:21f::1": false, "::ffff:93.184.215.14": false,
	} {
		if got := insideNetwork(netip.AddrPortFrom(netip.MustParseAddr(address), 443)); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
