package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/docs/reference/pages"
)

// TestArchitectureNamesWhatIsThere looks up every function, type and file that
// the recipes of docs/architecture.md name, and holds each to three steps.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	d := parseDocument("docs/architecture.md", read(t, "docs/architecture.md"))
	named := regexp.MustCompile("`([A-Za-z.]+)` in `([a-z_/]+\\.go)`")
	step := regexp.MustCompile(`^\d\. `)
	recipe, steps, found := "", map[string]int{}, 0
	for _, line := range d.section(t, "## Where to add something") {
		if name, ok := strings.CutPrefix(line, "### "); ok {
			recipe = name
			steps[recipe] = 0
		}
		if step.MatchString(line) {
			steps[recipe]++
		}
		for _, match := range named.FindAllStringSubmatch(line, -1) {
			found++
			if problem := declares(match[2], match[1]); problem != "" {
				t.Errorf("docs/architecture.md, %s: %s", recipe, problem)
			}
		}
	}
	for _, recipe := range []string{"An extension of OpenAI", "A condition of rules", "A state store", "A membership source", "A command"} {
		if steps[recipe] != 3 {
			t.Errorf("docs/architecture.md: %s has %d steps, not 3", recipe, steps[recipe])
		}
	}
	if found < 15 {
		t.Errorf("only %d names found; are they written as `Name` in `file.go`?", found)
	}
}

// TestTheWalkNamesWhatIsThere does the same for the drawing.
func TestTheWalkNamesWhatIsThere(t *testing.T) {
	steps, err := pages.Steps()
	if err != nil || len(steps) != 8 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	for _, step := range steps {
		if problem := declares(step.File, step.Function); problem != "" {
			t.Errorf("walk.txt: %s", problem)
		}
	}
}

// declares says what is wrong if a file does not declare a function, a method
// written as Type.Method, a type or a variable.
func declares(path, name string) string {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(path)), nil, parser.SkipObjectResolution)
	if err != nil {
		if os.IsNotExist(err) {
			return "there is no " + path
		}
		return err.Error()
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			own := d.Name.Name
			if d.Recv != nil {
				kind := d.Recv.List[0].Type
				if pointer, ok := kind.(*ast.StarExpr); ok {
					kind = pointer.X
				}
				own = kind.(*ast.Ident).Name + "." + own
			}
			if own == name {
				return ""
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == name {
						return ""
					}
				case *ast.ValueSpec:
					for _, ident := range s.Names {
						if ident.Name == name {
							return ""
						}
					}
				}
			}
		}
	}
	return path + " declares no " + name
}
