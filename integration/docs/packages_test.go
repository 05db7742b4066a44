package docs

import (
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// taught are the packages that others build on: their doc.go teaches what they
// keep and what that costs, and an example runs.
var taught = []string{
	"policy", "policy/arguments", "policy/assertion", "policy/celrule", "policy/membership", "policy/ratelimit",
	"policy/registration", "policy/revocation", "policy/state", "policy/token",
	"mcp", "mcp/doctor", "mcp/flight", "mcp/lru", "mcp/rawjson", "mcp/openai", "mcp/discovery", "mcp/page", "links", "links/onboarding",
}

func TestPackagesTeachTheirModel(t *testing.T) {
	example := regexp.MustCompile(`(?m)^func Example\w*\(`)
	for _, dir := range taught {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(dir), "doc.go"), nil, parser.ParseComments)
		if err != nil {
			t.Errorf("%s has no doc.go that can be read: %v", dir, err)
			continue
		}
		comment := file.Doc.Text()
		if !strings.HasPrefix(comment, "Package "+file.Name.Name+" ") {
			t.Errorf("%s/doc.go does not begin with Package %s", dir, file.Name.Name)
		}
		for _, section := range []string{"\n# Guarantees\n", "\n# Trade-offs\n"} {
			if !strings.Contains(comment, section) {
				t.Errorf("%s/doc.go has no section %q", dir, strings.TrimSpace(section))
			}
		}
		examples := 0
		for _, name := range files(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
			if path.Dir(name) == dir {
				examples += len(example.FindAllString(read(t, name), -1))
			}
		}
		if examples == 0 {
			t.Errorf("%s has no example", dir)
		}
	}
}

// TestPackageCommentsNameWhatIsThere follows the links in these comments.
func TestPackageCommentsNameWhatIsThere(t *testing.T) {
	link := regexp.MustCompile(`\[([A-Z]\w*)(?:\.(\w+))?\]`)
	for _, dir := range taught {
		set := token.NewFileSet()
		packages, err := parser.ParseDir(set, filepath.Join(root, filepath.FromSlash(dir)), func(info os.FileInfo) bool { //nolint:staticcheck // build tags do not matter for names
			return !strings.HasSuffix(info.Name(), "_test.go")
		}, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, parsed := range packages {
			comment := ""
			if file := parsed.Files[filepath.Join(root, filepath.FromSlash(dir), "doc.go")]; file != nil {
				comment = file.Doc.Text()
			}
			known := make(map[string]bool)
			described := doc.New(parsed, dir, doc.AllDecls)
			for _, f := range described.Funcs {
				known[f.Name] = true
			}
			for _, values := range append(described.Consts, described.Vars...) {
				for _, name := range values.Names {
					known[name] = true
				}
			}
			for _, kind := range described.Types {
				known[kind.Name] = true
				for _, f := range kind.Funcs {
					known[f.Name] = true
				}
				for _, values := range append(kind.Consts, kind.Vars...) {
					for _, name := range values.Names {
						known[name] = true
					}
				}
				for _, m := range kind.Methods {
					known[kind.Name+"."+m.Name] = true
				}
			}
			for _, match := range link.FindAllStringSubmatch(comment, -1) {
				name := match[1]
				if match[2] != "" {
					name += "." + match[2]
				}
				if !known[name] {
					t.Errorf("%s/doc.go names [%s], which is not there", dir, name)
				}
			}
		}
	}
}
