package caddymodule

import (
	"strings"
	"testing"
)

func TestUpstreamsAreAddressesOfManyForms(t *testing.T) {
	for text, want := range map[string]upstreamAddress{
		"127.0.0.1:3000":         {dial: "127.0.0.1:3000", name: "127.0.0.1"},
		":3000":                  {dial: ":3000"},
		"localhost":              {dial: "localhost:80", name: "localhost"},
		"mcp.internal:3000":      {dial: "mcp.internal:3000", name: "mcp.internal"},
		"http://mcp.internal":    {dial: "mcp.internal:80", name: "mcp.internal"},
		"http://127.0.0.1:3000":  {dial: "127.0.0.1:3000", name: "127.0.0.1"},
		"https://mcp.internal":   {dial: "mcp.internal:443", tls: true, name: "mcp.internal"},
		"https://mcp.internal:1": {dial: "mcp.internal:1", tls: true, name: "mcp.internal"},
		"[::1]:3000":             {dial: "[::1]:3000", name: "::1"},
		"::1":                    {dial: "[::1]:80", name: "::1"},
		"[::1]":                  {dial: "[::1]:80", name: "::1"},
		"https://[2001:db8::1]":  {dial: "[2001:db8::1]:443", tls: true, name: "2001:db8::1"},
		"unix//run/mcp.sock":     {dial: "unix//run/mcp.sock"},
	} {
		if got, err := parseUpstream(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestOtherUpstreamsAreRefusedWithWhatToWrite(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "empty",
		"http://":                    "empty",
		"[]":                         "host:port",
		"ftp://mcp.internal":         "write http, https or unix/",
		"h2c://mcp.internal":         "write http, https or unix/",
		"127.0.0.1:3000/mcp":         "without path",
		"http://127.0.0.1:3000/":     "without path",
		"127.0.0.1:3000?x=y":         "without path",
		"127.0.0.1:3000#x":           "host:port",
		"user:secret@127.0.0.1:3000": "host:port",
		"a b":                        "host:port",
		"mcp.internal:":              "host:port",
		":":                          "host:port",
		"mcp.internal:70000":         "host:port",
		"mcp.internal:http":          "host:port",
		"unix/":                      "unix//",
	} {
		got, err := parseUpstream(text)
		if err == nil {
			t.Errorf("%q: accepted as %+v", text, got)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say %q", text, err, want)
		}
	}
}

// The proxy made from upstream arguments must neither buffer a stream nor send a
// write twice.
func TestTheProxyOfUpstreamArgumentsIsSafeForStreamsAndWrites(t *testing.T) {
	const file = "http://localhost:1 {\n\tmcp_app /mcp %s {\n\t\tauth {\n\t\t\tmode none\n\t\t}\n\t\tpolicy {\n\t\t\ttool *\n\t\t}\n\t}\n}\n"
	for upstreams, want := range map[string]string{
		"127.0.0.1:3000":                     "",
		"127.0.0.1:3000 127.0.0.1:3001":      "",
		"https://a.internal https://b.local": "",
		"http://a.internal https://b.local":  "all http or all https",
		"https://a.internal b.local:80":      "all http or all https",
		"unix//run/a.sock":                   "",
	} {
		err := validate(t, strings.Replace(file, "%s", upstreams, 1))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", upstreams, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want it to say %q", upstreams, err, want)
		}
	}
}
