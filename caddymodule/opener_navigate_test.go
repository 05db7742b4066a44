package caddymodule

import (
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// toolList is a catalog; it counts how often it was asked.
type toolList struct {
	tools map[string]string
	asked int
}

func (l *toolList) Tool(name string) (rawjson.Value, bool) {
	l.asked++
	tool, ok := l.tools[name]
	return rawjson.Value(tool), ok
}

// TestNavigateOnlyFollowsLinks: the tool that the page calls by itself can
// neither change something nor leave the tenant.
func TestNavigateOnlyFollowsLinks(t *testing.T) {
	t.Parallel()
	pages, err := links.ParseTenantPath("/t/"+tenantPlaceholder+"/*", tenantPlaceholder)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, tool, arguments, tenant string
		pages                         links.TenantPath
		want                          string // part of the error; empty for none
		asks                          bool   // whether the catalog is needed
	}{
		{"good", "nav", `{"url":"/t/acme/parts?tag=bolt"}`, "acme", pages, "", true},
		{"anywhere without a pattern", "nav", `{"url":"/parts"}`, "", links.TenantPath{}, "", true},
		{"not read-only", "delete", `{"url":"/parts"}`, "", links.TenantPath{}, "not read-only", true},
		{"nothing said about it", "plain", `{"url":"/parts"}`, "", links.TenantPath{}, "not read-only", true},
		{"read-only in words", "words", `{"url":"/parts"}`, "", links.TenantPath{}, "not read-only", true},
		{"not in the catalog", "nothing", `{"url":"/parts"}`, "", links.TenantPath{}, links.ErrUnknownTool.Error(), true},
		{"page of another tenant", "nav", `{"url":"/t/globex/parts"}`, "acme", pages, "belongs to the caller's tenant", false},
		{"start page", "nav", `{"url":"/"}`, "acme", pages, "belongs to the caller's tenant", false},
		{"no tenant", "nav", `{"url":"/t//parts"}`, "", pages, "belongs to the caller's tenant", false},
		{"traversal", "nav", `{"url":"/t/acme/..%2fglobex"}`, "acme", pages, "dot segment", false},
		{"an identity beside it", "nav", `{"url":"/t/acme/","tenant":"globex"}`, "acme", pages, "nothing but one url", false},
		{"no arguments", "nav", ``, "acme", pages, "arguments", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			catalog := &toolList{tools: map[string]string{
				"nav":    `{"name":"nav","annotations":{"readOnlyHint":true}}`,
				"delete": `{"name":"delete","annotations":{"readOnlyHint":false}}`,
				"plain":  `{"name":"plain"}`,
				"words":  `{"name":"words","annotations":{"readOnlyHint":"true"}}`,
			}}
			err := navigateCall{tool: tt.tool, arguments: rawjson.Value(tt.arguments), catalog: catalog, pages: tt.pages, tenant: tt.tenant}.check()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if (catalog.asked > 0) != tt.asks {
				t.Errorf("the catalog was asked %d times", catalog.asked)
			}
		})
	}
}

func TestLinkTarget(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]links.Target{
		`{}`:           {},
		`{"name":"a"}`: {Name: "a"},
		`{"name":"a","annotations":{"readOnlyHint":true},"_meta":{"openai/ui":{"entrypoints":[{"type":"thread"},{"type":"global"}]}}}`: {Name: "a", ReadOnly: true, Global: true},
		`{"name":"a","annotations":[],"_meta":{"openai/ui":{"entrypoints":[{"type":"thread"},"global"]}}}`:                             {Name: "a"},
	} {
		if got := linkTarget(rawjson.Value(tool)); got != want {
			t.Errorf("%s: %+v, want %+v", tool, got, want)
		}
	}
}

// TestResultsLeadNowhereHidden: what a caller may not see is not linked to.
func TestResultsLeadNowhereHidden(t *testing.T) {
	t.Parallel()
	catalog := &toolList{tools: map[string]string{
		"cad.library": `{"name":"cad.library"}`,
		"cad.board":   `{"name":"cad.board","_meta":{"openai/ui":{"entrypoints":[{"type":"global"}]}}}`,
		"cad.tray":    `{"name":"cad.tray"}`,
	}}
	declared := func(tool string) bool { return tool == "cad.library" || tool == "cad.delete" }
	const (
		answer = `{"content":[{"type":"resource_link","uri":"codex://plugins/bits/app/cad.delete"}],"structuredContent":["codex://plugins/bits/app/cad.library","codex://plugins/bits/app/cad.board","codex://plugins/bits/app/cad.tray"]}`
		kept   = `{"content":[],"structuredContent":["codex://plugins/bits/app/cad.library","codex://plugins/bits/app/cad.board",""]}`
	)
	for _, tt := range []struct {
		mode, plugin string
		want         string
		findings     int
	}{
		{linksDrop, "bits", kept, 2},
		{linksCheck, "bits", answer, 2},
		{linksPass, "bits", answer, 0},
		{"", "bits", answer, 0},
		{linksDrop, "", answer, 0},
	} {
		got, findings := newResultLinks(tt.mode, tt.plugin, "", catalog, declared).apply("cad.search", rawjson.Value(answer))
		if string(got) != tt.want || len(findings) != tt.findings {
			t.Errorf("%q: %s with %+v", tt.mode, got, findings)
		}
		if tt.findings > 0 && (findings[0].Code != "result-link-hidden" || findings[0].Subject != "cad.search" || findings[1].Code != "result-link") {
			t.Errorf("%q: %+v", tt.mode, findings)
		}
	}
}

func TestOwnLinksAreNoResourcesOfTheServer(t *testing.T) {
	t.Parallel()
	catalog := &toolList{tools: map[string]string{"cad.library": `{"name":"cad.library"}`}}
	with := func(mode string) resultLinks {
		return newResultLinks(mode, "bits", "", catalog, func(string) bool { return true })
	}
	for _, tt := range []struct {
		mode, uri  string
		own, shown bool
	}{
		{linksDrop, "codex://plugins/bits/app/cad.library", true, true},
		{linksDrop, "codex://plugins/bits/app/cad.delete", true, false},
		{linksCheck, "codex://plugins/bits/app/cad.delete", true, true},
		{linksDrop, "file:///etc/passwd", false, true},
		{linksPass, "codex://plugins/bits/app/cad.library", false, false},
	} {
		if own, shown := with(tt.mode).shows(tt.uri); own != tt.own || own && shown != tt.shown {
			t.Errorf("%s of %s: %v, %v", tt.mode, tt.uri, own, shown)
		}
	}
}
