package onboarding

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

const goodSkill = "---\nname: setup\ndescription: Connects your workspace.\n---\n# Setup\n"

// folder makes a plugin's folder out of file names and contents. A content that
// begins with -> is the target of a symbolic link.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()

	root := filepath.Join(t.TempDir(), "plugin")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}

	for name, content := range files {
		file := filepath.Join(root, name)

		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			if target, link := strings.CutPrefix(content, "->"); link {
				err = os.Symlink(target, file)
			} else {
				err = os.WriteFile(file, []byte(content), 0o644)
			}
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	return root
}

func open(t testing.TB, root string) *Plugin {
	t.Helper()

	p, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = p.Close() })

	return p
}

func TestDeclared(t *testing.T) {
	t.Parallel()

	const declares = `{"extensions":{"com.openai":{"onboardingSkill":"./skills/setup/SKILL.md"}}}`

	for _, tt := range []struct {
		name  string
		files map[string]string
		skill string
		want  string // part of the one finding; empty for none
	}{
		{"nothing", nil, "", ""},
		{"no declaration", map[string]string{ManifestPath: `{"name":"bits"}`}, "", ""},
		{"declaration", map[string]string{ManifestPath: declares}, "./skills/setup/SKILL.md", ""},
		{"portable manifest", map[string]string{"plugin.json": declares}, "./skills/setup/SKILL.md", ""},
		{"both alike", map[string]string{ManifestPath: declares, "plugin.json": declares}, "./skills/setup/SKILL.md", ""},
		{
			"both unlike",
			map[string]string{ManifestPath: declares, "plugin.json": strings.Replace(declares, "setup", "start", 1)},
			"./skills/setup/SKILL.md", "plugin.json: declares another",
		},
		{"an array", map[string]string{ManifestPath: `{"extensions":{"com.openai":{"onboardingSkill":["./skills/setup/SKILL.md"]}}}`}, "", "is no string"},
		{"repeated name", map[string]string{ManifestPath: `{"name":"a","name":"b"}`}, "", "no strict JSON"},
		{"a comment", map[string]string{ManifestPath: "{} // x"}, "", "no strict JSON"},
		{"no object", map[string]string{ManifestPath: "[]"}, "", "no JSON object"},
		{"too large", map[string]string{ManifestPath: strings.Repeat(" ", maxFile) + "{}"}, "", "larger than"},
		{"a link that leads out", map[string]string{ManifestPath: "->../../elsewhere.json"}, "", "escapes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			skill, found, findings := open(t, folder(t, tt.files)).Declared()
			if skill != tt.skill || found != (tt.skill != "") {
				t.Errorf("declared %q, %v", skill, found)
			}

			wantFinding(t, findings, tt.want)
		})
	}
}

// TestCheckSkill: what is declared must be there for everybody who installs the
// plugin, and say what it is.
func TestCheckSkill(t *testing.T) {
	t.Parallel()

	const declared = "./skills/setup/SKILL.md"

	one := func(content string) map[string]string { return map[string]string{"skills/setup/SKILL.md": content} }

	for _, tt := range []struct {
		name     string
		declared string
		files    map[string]string
		want     string
	}{
		{"good", declared, one(goodSkill), ""},
		{"Windows lines", declared, one(strings.ReplaceAll(goodSkill, "\n", "\r\n")), ""},
		{"folded text", declared, one("---\nname: setup\ndescription: >-\n  Connects\n  your workspace.\nmetadata: {a: [1]}\n---\n"), ""},
		{"link inside", declared, map[string]string{"skills/setup/SKILL.md": "->../../shared/SKILL.md", "shared/SKILL.md": goodSkill}, ""},
		{"not relative", "/skills/setup/SKILL.md", one(goodSkill), "does not begin with ./skills/"},
		{"traversal", "./skills/../setup/SKILL.md", one(goodSkill), "empty, ends in a dot"},
		{"missing", declared, nil, "skills/setup/SKILL.md: is not there"},
		{"another case", "./skills/Setup/SKILL.md", one(goodSkill), "is not there"},
		{"a folder", declared, map[string]string{"skills/setup/SKILL.md/x": ""}, "no regular file"},
		{"link to a file outside", declared, one("->../../../outside.md"), "leads out of the plugin"},
		{"link to a folder outside", declared, map[string]string{"skills": "->../outside"}, "leads out of the plugin"},
		{"absolute link", declared, one("->/etc/hosts"), "leads out of the plugin"},
		{"link to nothing", declared, one("->nothing.md"), "is not there"},
		{"too large", declared, one(goodSkill + strings.Repeat("x", maxFile)), "larger than"},
		{"not UTF-8", declared, one("---\nname: \xff\n---\n"), "not UTF-8"},
		{"no front matter", declared, one("# Setup\n"), "no front matter"},
		{"front matter without an end", declared, one("---\nname: setup\n"), "no front matter"},
		{"byte order mark", declared, one("\ufeff" + goodSkill), "no front matter"},
		{"no YAML", declared, one("---\nname: setup: now\n---\n"), "no YAML"},
		{"a list", declared, one("---\n- name\n---\n"), "no YAML"},
		{"no name", declared, one("---\ndescription: d\n---\n"), "says no name"},
		{"empty name", declared, one("---\nname: ''\ndescription: d\n---\n"), "says no name"},
		{"null name", declared, one("---\nname:\ndescription: d\n---\n"), "says no name"},
		{"number for a name", declared, one("---\nname: 1\ndescription: d\n---\n"), "name that is no text"},
		{"list for a name", declared, one("---\nname: [a]\ndescription: d\n---\n"), "name that is no text"},
		{"long name", declared, one("---\nname: " + strings.Repeat("é", 65) + "\ndescription: d\n---\n"), "more than 64 characters"},
		{"no description", declared, one("---\nname: a\n---\n"), "says no description"},
		{"long description", declared, one("---\nname: a\ndescription: " + strings.Repeat("d", 1025) + "\n---\n"), "more than 1024 characters"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			root := folder(t, tt.files)
			if err := os.WriteFile(filepath.Join(filepath.Dir(root), "outside.md"), []byte(goodSkill), 0o644); err != nil {
				t.Fatal(err)
			}

			outside := filepath.Join(filepath.Dir(root), "outside", "setup")
			if err := os.MkdirAll(outside, 0o755); err != nil {
				t.Fatal(err)
			}

			if err := os.WriteFile(filepath.Join(outside, "SKILL.md"), []byte(goodSkill), 0o644); err != nil {
				t.Fatal(err)
			}

			skill, findings := open(t, root).CheckSkill(tt.declared)
			wantFinding(t, findings, tt.want)

			if want := (Skill{tt.declared, "setup", "Connects your workspace."}); tt.want == "" && skill != want {
				t.Errorf("skill %+v, want %+v", skill, want)
			}
		})
	}
}

func wantFinding(t *testing.T, findings []Finding, want string) {
	t.Helper()

	var all []string

	for _, f := range findings {
		all = append(all, f.File+": "+f.Detail)

		if f.Fix == "" {
			t.Errorf("%s: no fix", f.Detail)
		}
	}

	if want == "" && len(findings) > 0 || want != "" && (len(findings) != 1 || !strings.Contains(all[0], want)) {
		t.Errorf("findings %q, want %q", all, want)
	}
}

// TestDeclareKeepsTheManifest: an author's own file is changed where it must be.
func TestDeclareKeepsTheManifest(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, in, want string }{
		{"no manifest", "", "{\n  \"name\": \"bits\",\n  \"extensions\": {\n    \"com.openai\": {\n      \"onboardingSkill\": \"./skills/setup/SKILL.md\"\n    }\n  }\n}"},
		{"one line", `{"name":"x"}`, `{"name":"x","extensions":{"com.openai":{"onboardingSkill":"./skills/setup/SKILL.md"}}}`},
		{"empty", `{}`, `{"extensions":{"com.openai":{"onboardingSkill":"./skills/setup/SKILL.md"}}}`},
		{
			"tabs", "{\n\t\"name\": \"x\",\n\t\"keywords\": [\"a\", \"b\"]\n}",
			"{\n\t\"name\": \"x\",\n\t\"keywords\": [\"a\", \"b\"],\n\t\"extensions\": {\n\t\t\"com.openai\": {\n\t\t\t\"onboardingSkill\": \"./skills/setup/SKILL.md\"\n\t\t}\n\t}\n}",
		},
		{
			"other extensions", "{\n  \"extensions\": {\n    \"x\": {}\n  },\n  \"name\": \"x\"\n}",
			"{\n  \"extensions\": {\n    \"x\": {},\n    \"com.openai\": {\n      \"onboardingSkill\": \"./skills/setup/SKILL.md\"\n    }\n  },\n  \"name\": \"x\"\n}",
		},
		{
			"another skill", "{\n  \"extensions\": {\"com.openai\": {\"onboardingSkill\": \"./skills/a/SKILL.md\"}}\n}",
			"{\n  \"extensions\": {\"com.openai\": {\"onboardingSkill\": \"./skills/setup/SKILL.md\"}}\n}",
		},
	} {
		got, err := Declare(value(t, tt.in), "bits", "./skills/setup/SKILL.md")
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, got, tt.want)
		}

		value(t, string(got))
	}

	if _, err := Declare(nil, "bits & bolts", "./skills/setup/SKILL.md"); err == nil {
		t.Error("a name that hosts refuse was taken")
	}

	if _, err := Declare(value(t, `{"extensions":[]}`), "bits", "./skills/setup/SKILL.md"); !errors.Is(err, rawjson.ErrNotObject) {
		t.Errorf("extensions that are no object: %v", err)
	}
}

func TestAddEntryKeepsTheMarketplace(t *testing.T) {
	t.Parallel()

	entry := Entry{Name: "bits", Source: EntrySource{"local", "./plugins/bits"}}

	const text = `{
      "name": "bits",
      "source": {
        "source": "local",
        "path": "./plugins/bits"
      },
      "policy": {
        "installation": "",
        "authentication": ""
      },
      "category": ""
    }`

	for _, tt := range []struct{ name, in, want string }{
		{"no file", "", "{\n  \"name\": \"acme\",\n  \"plugins\": [\n    " + text + "\n  ]\n}"},
		{
			"no plugins", "{\n  \"name\": \"acme\"\n}",
			"{\n  \"name\": \"acme\",\n  \"plugins\": [\n    " + text + "\n  ]\n}",
		},
		{
			"another plugin", "{\n  \"name\": \"acme\",\n  \"plugins\": [\n    { \"name\": \"x\" }\n  ]\n}",
			"{\n  \"name\": \"acme\",\n  \"plugins\": [\n    { \"name\": \"x\" },\n    " + text + "\n  ]\n}",
		},
		{
			"the same plugin", "{\n  \"name\": \"acme\",\n  \"plugins\": [\n    { \"name\": \"bits\" },\n    { \"name\": \"x\" }\n  ]\n}",
			"{\n  \"name\": \"acme\",\n  \"plugins\": [\n    " + text + ",\n    { \"name\": \"x\" }\n  ]\n}",
		},
	} {
		got, err := AddEntry(value(t, tt.in), "acme", entry)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, got, tt.want)
		}
	}

	for in, want := range map[string]string{
		`{"name":"globex"}`:             `of the marketplace "globex", not of "acme"`,
		`{"name":"acme","plugins":{}}`:  "no array",
		`{"plugins":[]}`:                `of the marketplace ""`,
		`{"name":"acme","plugins":"x"}`: "no array",
	} {
		if _, err := AddEntry(value(t, in), "acme", entry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}

	if _, err := AddEntry(nil, "ac/me", entry); err == nil {
		t.Error("a name that hosts refuse was taken")
	}
}

func TestNewEntryPointsAtThePlugin(t *testing.T) {
	t.Parallel()

	root := t.TempDir()
	file := filepath.Join(root, ".agents", "plugins", "marketplace.json")

	for _, tt := range []struct {
		name, file, folder, want string // want is the path, or part of the error
		refused                  bool
	}{
		{"bits", "", "anywhere", "./plugins/bits", false},
		{"bits", file, filepath.Join(root, "apps", "bits"), "./apps/bits", false},
		{"bits", file, root, "below the marketplace's root", true},
		{"bits", file, filepath.Dir(root), "below the marketplace's root", true},
		{"bits", filepath.Join(root, "marketplace.json"), filepath.Join(root, "bits"), ".agents/plugins/marketplace.json", true},
		{"b i t s", "", "x", "letters, digits", true},
	} {
		entry, err := NewEntry(tt.name, "Productivity", tt.file, tt.folder)

		switch {
		case tt.refused:
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s in %s: %v, want %q", tt.folder, tt.file, err, tt.want)
			}
		case err != nil || entry.Source.Path != tt.want:
			t.Errorf("%s in %s: %+v, %v, want %s", tt.folder, tt.file, entry, err, tt.want)
		}
	}
}

func TestWriting(t *testing.T) {
	t.Parallel()

	root := folder(t, nil)
	p := open(t, root)

	manifest, err := Declare(nil, "bits", "./skills/setup/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := p.WriteManifest(manifest); err != nil {
			t.Fatal(err)
		}
	}

	again, err := p.Manifest()
	if err != nil || string(again) != string(manifest) {
		t.Errorf("read %s, %v", again, err)
	}

	file := filepath.Join(root, ".agents", "plugins", "marketplace.json")
	if v, err := ReadMarketplace(file); v != nil || err != nil {
		t.Errorf("no file: %s, %v", v, err)
	}

	if err := WriteMarketplace(file, rawjson.Value(`{"name":"acme"}`)); err != nil {
		t.Fatal(err)
	}

	if v, err := ReadMarketplace(file); string(v) != `{"name":"acme"}` || err != nil {
		t.Errorf("read %s, %v", v, err)
	}

	entries, err := os.ReadDir(filepath.Join(root, ".codex-plugin"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestWritingStaysInside: a plugin made by somebody else must not aim the
// command at files elsewhere.
func TestWritingStaysInside(t *testing.T) {
	t.Parallel()

	root := folder(t, map[string]string{".codex-plugin": "->../victim"})
	if err := os.Mkdir(filepath.Join(filepath.Dir(root), "victim"), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := open(t, root).WriteManifest(rawjson.Value(`{}`)); err == nil {
		t.Error("written through a link that leads out")
	}

	if entries, err := os.ReadDir(filepath.Join(filepath.Dir(root), "victim")); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func value(t testing.TB, text string) rawjson.Value {
	t.Helper()

	if text == "" {
		return nil
	}

	v, err := rawjson.Parse([]byte(text), maxDepth)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}

	return v
}

func FuzzReadSkill(f *testing.F) {
	for _, s := range []string{goodSkill, "---\n---\n", "---\nname: &a [*a]\n---", "---\nname: !!binary x\ndescription: |\n  a\n--- \n", "---\n? {}\n---\n"} {
		f.Add([]byte(s))
	}

	f.Fuzz(func(t *testing.T, content []byte) {
		skill, findings := readSkill("SKILL.md", content)
		if len(findings) == 0 && (skill.Name == "" || skill.Description == "" || strings.ContainsAny(skill.Name+skill.Description, "\r\n")) {
			t.Fatalf("%q passes as %+v", content, skill)
		}
	})
}
