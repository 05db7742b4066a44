package caddymodule

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

func TestEverySpellingOfAnIdentityHeaderIsRemoved(t *testing.T) {
	h := newIdentityHeaders(defaultIdentityPrefix)
	for _, name := range []string{
		"X-Mcp-App-Tenant", "x-mcp-app-tenant", "X-MCP-APP-TENANT", "x_mcp_app_tenant", "X_MCP_APP_TENANT", "X-Mcp_App-Tenant",
		"X.Mcp.App.Tenant", "x.mcp-app_tenant", "X-Mcp-App-", "x_mcp_app_", "X-Mcp-App-Anything", "X-Mcp-App-Assertion", "X-Mcp-App--Tenant",
		"X~Mcp~App~Tenant", "X!Mcp|App^Tenant", "X-Mcp+App.Tenant",
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header[name] = []string{"forged", "twice"}
		r.Header["X-Neutral"] = []string{"kept"}
		h.strip(r)
		if len(r.Header) != 1 || r.Header.Get("X-Neutral") != "kept" {
			t.Errorf("%s: left with %v", name, r.Header)
		}
	}
}

func TestOtherHeadersAreKept(t *testing.T) {
	h := newIdentityHeaders(defaultIdentityPrefix)
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	want := http.Header{
		"X-Mcp-App": {"1"}, "X-Mcp-Apps-Tenant": {"1"}, "Mcp-Name": {"1"}, "X-Mcp": {"1"}, "Xx-Mcp-App-Tenant": {"1"}, "X-Mcpapp-Tenant": {"1"},
		"Mcp-Param-X-Mcp-App-Tenant": {"1"}, "Traceparent": {"1"},
	}
	r.Header = want.Clone()
	h.strip(r)
	if !maps.EqualFunc(r.Header, want, slices.Equal) {
		t.Errorf("left with %v, want %v", r.Header, want)
	}
}

func TestTheVerifiedIdentityIsSetOnce(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prefix string
		who    policy.Principal
		want   http.Header
	}{
		{"all of it", defaultIdentityPrefix, policy.Principal{Issuer: "https://id.example", Subject: "u1", Tenant: "acme", Scopes: []string{"a", "b"}}, http.Header{
			"X-Mcp-App-Issuer": {"https://id.example"}, "X-Mcp-App-Subject": {"u1"}, "X-Mcp-App-Tenant": {"acme"}, "X-Mcp-App-Scopes": {"a b"},
		}},
		{"no tenant", defaultIdentityPrefix, policy.Principal{Issuer: "https://id.example", Subject: "u1"}, http.Header{
			"X-Mcp-App-Issuer": {"https://id.example"}, "X-Mcp-App-Subject": {"u1"},
		}},
		{"nobody", defaultIdentityPrefix, policy.Principal{}, http.Header{}},
		{"another prefix", "x-acme_", policy.Principal{Subject: "u1"}, http.Header{"X-Acme_subject": {"u1"}}},
	} {
		h := newIdentityHeaders(tt.prefix)
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		for _, forged := range []string{"Issuer", "Subject", "Tenant", "Scopes"} {
			r.Header[tt.prefix+forged] = []string{"forged"}
		}
		h.strip(r)
		h.set(r.Header, &headerLines{}, &tt.who)
		got := http.Header{}
		for name, values := range r.Header {
			got.Set(name, strings.Join(values, "|"))
		}
		want := http.Header{}
		for name, values := range tt.want {
			want.Set(name, values[0])
		}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: the server is told %v, want %v", tt.name, got, want)
		}
	}
}

// What a client put into Connection would take the header of that name away on
// the way to the server; trailers come after everything has been decided.
func TestNothingOfTheIdentityTravelsBesideTheHeaders(t *testing.T) {
	m := mustLoad(t, open)
	r := post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, map[string]string{"Connection": "X-Mcp-App-Subject, Mcp-Session-Id", "Upgrade": "websocket"})
	r.Trailer = http.Header{"X-Mcp-App-Tenant": {"forged"}}
	served := false
	serve(t, m, r, func(w http.ResponseWriter, r *http.Request) error {
		served = true
		for _, name := range []string{"Connection", "Upgrade", "Trailer"} {
			if got := r.Header.Values(name); len(got) != 0 {
				t.Errorf("%s: %q", name, got)
			}
		}
		if len(r.Trailer) != 0 {
			t.Errorf("trailers: %v", r.Trailer)
		}
		return answering(http.StatusOK, nil, `{"jsonrpc":"2.0","id":1,"result":{}}`)(w, r)
	})
	if !served {
		t.Error("the request did not go on")
	}
}

// foldedLikeCGI is how servers that put headers into environment variables name
// them: every character other than a letter or a digit becomes one.
func foldedLikeCGI(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			return c
		case c == '-', c == '_', c == '.':
			return '-'
		default:
			return c
		}
	}, strings.ToLower(name))
}

// FuzzIdentityHeaders looks for a header name that survives although some server
// would read it as one of ours.
func FuzzIdentityHeaders(f *testing.F) {
	for _, seed := range []string{"X-Mcp-App-Tenant", "x_mcp.app-TENANT", "X-Mcp-App", "Mcp-Name", "x-MCP-app-\u212a", ""} {
		f.Add(seed, "X-Mcp-App-")
	}
	f.Add("x.acme.user", "X_Acme-")
	f.Fuzz(func(t *testing.T, name, prefix string) {
		if prefix == "" || foldedLikeCGI(prefix) == "" {
			return
		}
		h := newIdentityHeaders(prefix)
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header = http.Header{name: {"forged"}, http.CanonicalHeaderKey(name): {"forged"}}
		h.strip(r)
		for left := range r.Header {
			if strings.HasPrefix(foldedLikeCGI(left), foldedLikeCGI(prefix)) {
				t.Errorf("%q survives under the prefix %q", left, prefix)
			}
		}
		h.set(r.Header, &headerLines{}, &policy.Principal{Subject: "u1"})
		if got := r.Header.Get(prefix + "Subject"); got != "u1" {
			t.Errorf("the subject under the prefix %q is %q", prefix, got)
		}
	})
}
