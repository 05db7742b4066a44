package caddymodule

import (
	"net/url"
	"strings"
	"testing"
)

func TestEveryDisguiseOfTheEndpointIsTheEndpoint(t *testing.T) {
	m := &Handler{Path: "/mcp"}
	for _, path := range []string{
		"/mcp", "//mcp", "/mcp/", "/mcp//", "/./mcp", "/mcp/.", "/x/../mcp", "/mcp/x/..", "/../mcp",
		"/MCP", "/mCp", "/%6dcp", "/%6D%63%70", "/%4dcp", "/%256dcp", "/%25256dcp", "/mc%2570", "/%2fmcp", "/mcp%2F", "/x%2f..%2fmcp", "/%2e/mcp", "/x/%2E%2e/mcp",
		`/\mcp`, "/%5Cmcp", "/mcp%5c", `/x\..\mcp`,
		"/mcp;x", "/mcp;x=y;z", "/;/mcp", "/x/..;/mcp", "/x/..;y/mcp", "/mcp%3bx", "/mcp%253bx", "/mcp;x=%2Fy", "/mcp;x=%252Fy", "/mcp;%25", "/%256dcp;%25", "/%256dcp;%25zz", "/%256dcp/%25zz/..", "/%25zz/../%256dcp",
		"/mcp?x=y",
	} {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.locate(u); got != atEndpoint {
			t.Errorf("%s is %v, want the endpoint", path, got)
		}
	}
}

func TestOtherPathsAreElsewhere(t *testing.T) {
	m := &Handler{Path: "/mcp"}
	for _, path := range []string{
		"/", "/mc", "/mcpx", "/xmcp", "/mcp/x", "/x/mcp", "/mcp.", "/mcp%20", "/mcp%00", "/%20mcp", "/m/cp", "/mcp.json", "*",
		"/x?/mcp", "/;mcp", "/x;/mcp/y", "/mcp/..", "/мср",
	} {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.locate(u); got != elsewhere {
			t.Errorf("%s is %v, want elsewhere", path, got)
		}
	}
}

func TestTheConfiguredPathMayBeOfAnyForm(t *testing.T) {
	for _, tt := range []struct {
		configured, path string
		want             place
	}{
		{"/MCP", "/mcp", atEndpoint},
		{"/MCP", "/MCP", atEndpoint},
		{"/a/b/", "/a/b", atEndpoint},
		{"/a/b", "/A//b/", atEndpoint},
		{"/a b", "/a%20b", atEndpoint},
		{"/a b", "/a%2520b", atEndpoint},
		{"/", "/", atEndpoint},
		{"/", "//", atEndpoint},
		{"/", "/x", elsewhere},
		{"/", "/;x", atEndpoint},
		{"/a", "/", elsewhere},
	} {
		u, err := url.ParseRequestURI(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Handler{Path: tt.configured}).locate(u); got != tt.want {
			t.Errorf("configured %q, %s: %v, want %v", tt.configured, tt.path, got, tt.want)
		}
	}
}

// The documents have fixed addresses: another spelling is somebody else's path.
func TestDocumentsAreFoundAtTheirExactPathsOnly(t *testing.T) {
	m := mustLoad(t, "resource https://gw.example/mcp\nauth {\nissuer https://id.example\n}\npolicy {\ntool *\n}\nroot_metadata on")
	for path, want := range map[string]place{
		wellKnownResource + "/mcp":     atMetadata,
		wellKnownResource:              atMetadata,
		wellKnownResource + "/":        elsewhere,
		wellKnownResource + "/MCP":     elsewhere,
		wellKnownResource + "/mcp/":    elsewhere,
		wellKnownResource + "/%6dcp":   elsewhere,
		wellKnownResource + "/mcp?x=y": atMetadata,
		"/" + wellKnownResource:        elsewhere,
		wellKnownIssuer:                elsewhere,
		"/mcp" + wellKnownResource:     elsewhere,
	} {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.locate(u); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

// Every request of the site is located, long before anybody is asked for a
// token: a path of many layers must not cost more than one of few.
func TestAPathOfManyLayersCostsNoMoreThanItsLength(t *testing.T) {
	m := &Handler{Path: "/mcp"}
	for name, p := range map[string]string{
		"percent signs":  "/%" + strings.Repeat("25", 100_000),
		"a hidden name":  "/%" + strings.Repeat("25", 100_000) + "6dcp",
		"parameters":     strings.Repeat("/;", 100_000),
		"dot segments":   strings.Repeat("/x/..", 50_000) + "/mcp",
		"encoded dots":   strings.Repeat("/%252e", 50_000),
		"backslashes":    "/" + strings.Repeat(`\`, 200_000),
		"broken escapes": strings.Repeat("/%z", 100_000),
	} {
		u, err := url.ParseRequestURI("/")
		if err != nil {
			t.Fatal(err)
		}
		u.Path, u.RawPath = p, ""
		// Each round reads the path once, and there are no more than maxLayers:
		// a path that hides more is taken for the endpoint instead.
		if _, settled := settle(p); !settled && m.locate(u) != atEndpoint {
			t.Errorf("%s: %d bytes of disguise are let through", name, len(p))
		}
	}
}

// FuzzCanonicalPath looks for a path whose canonical form is not canonical, and
// for a disguise that is not recognised.
func FuzzCanonicalPath(f *testing.F) {
	for _, seed := range []string{
		"/", "/mcp", "//mcp/", "/%6dcp", "/%256dcp;%25", "/%6dcp/%zz/..", "/mcp;x=%2Fy", `/\mcp`, "/x%2f..%5cmcp", "/%", "/%zz", "/a%2", "/..;/mcp", "/%e2%84%aa", "/\xff", "/İ", "/;%2f", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		once, settled := settle(p)
		if !settled {
			return
		}
		if twice, _ := settle(once); twice != once {
			t.Errorf("%q becomes %q, and that %q", p, once, twice)
		}
		if !strings.HasPrefix(once, "/") || strings.ContainsAny(once, `;\`) || strings.Contains(once, "//") {
			t.Errorf("%q becomes %q, which is not canonical", p, once)
		}
		for _, disguise := range disguisesOf(p) {
			if got, settled := settle(disguise); settled && got != once {
				t.Errorf("%q becomes %q, but its disguise %q becomes %q", p, once, disguise, got)
			}
		}
	})
}

// disguisesOf spells a path in other ways that some server undoes.
func disguisesOf(p string) []string {
	if !strings.HasPrefix(p, "/") {
		return nil
	}
	var encoded strings.Builder
	for i := range len(p) {
		const digits = "0123456789abcdef"
		encoded.WriteByte('%')
		encoded.WriteByte(digits[p[i]>>4])
		encoded.WriteByte(digits[p[i]&15])
	}
	once := "/" + encoded.String()[len("%2f"):]
	return []string{
		"/" + p, "/." + p, "/x/.." + p, once, strings.ReplaceAll(once, "%", "%25"), strings.ReplaceAll(p, "/", "//"), `\` + p[1:],
	}
}
