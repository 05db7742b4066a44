package makes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatEveryKindOfCallerGets compares everything on the wire with the golden
// files: three makes of server, three kinds of caller, both eras, both framings,
// lists in pages of one element.
func TestWhatEveryKindOfCallerGets(t *testing.T) {
	for _, m := range makes {
		for _, framing := range []string{"json", "sse"} {
			t.Run(m.name+" "+framing, func(t *testing.T) {
				g := m.before(t, framing == "json")
				for _, era := range eras {
					for _, p := range callers {
						c := g.caller(t, era, p)
						m.visit(t, c)
						compare(t, filepath.Join("testdata", "golden", m.name, p.String()+"-"+era+"-"+framing+".txt"), c.wire())
					}
				}
			})
		}
	}
}

// visit asks for everything that an extension is about.
func (m maker) visit(t *testing.T, c *caller) {
	t.Helper()
	c.all(t, "tools/list", "tools")
	c.all(t, "resources/list", "resources")
	c.call(t, "resources/read", m.page, `{"uri":"`+m.page+`"}`)
	c.tool(t, "settings.read", `{}`)
	c.tool(t, "settings.update", m.set)
	c.tool(t, "settings.update", `{"set":{}}`)
	c.tool(t, "settings.read", `{}`)
	if m.search != "" {
		c.tool(t, m.search, `{"query":"bolt"}`)
		c.tool(t, m.search, `{"query":7}`)
	}
}

// compare holds a text against a golden file, or writes it.
func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	if got == want {
		return
	}
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wantLines), len(gotLines)) {
		if wantLines[i] != gotLines[i] {
			t.Fatalf("%s:%d:\ngot  %s\nwant %s", file, i+1, gotLines[i], wantLines[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d", file, len(gotLines), len(wantLines))
}
