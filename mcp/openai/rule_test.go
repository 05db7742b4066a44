package openai

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryFindingHasARule compares the codes in the source with the table, in
// both directions.
func TestEveryFindingHasARule(t *testing.T) {
	used := codesInSource(t, ".", "../page", "../../caddymodule")
	for code, where := range used {
		rule, ok := RuleOf(code)
		if !ok {
			t.Errorf("%s: the code %q has no rule", where, code)
			continue
		}
		if rule.ID != code || rule.Meaning == "" || rule.Fix == "" || !slices.Contains([]Severity{Broken, Doubtful, Note}, rule.Severity) {
			t.Errorf("the rule of %q is incomplete: %+v", code, rule)
		}
	}
	for _, rule := range Rules() {
		if used[rule.ID] == "" {
			t.Errorf("nothing is ever found under the rule %q", rule.ID)
		}
	}
	if _, ok := RuleOf("no-such-code"); ok {
		t.Error("an unknown code has a rule")
	}
}

func TestRulesAreSortedAndUnique(t *testing.T) {
	list := Rules()
	for i := 1; i < len(list); i++ {
		if list[i-1].ID >= list[i].ID {
			t.Errorf("%q stands before %q", list[i-1].ID, list[i].ID)
		}
	}
	list[0].ID = "changed"
	if Rules()[0].ID == "changed" {
		t.Error("the table can be changed from outside")
	}
}

// codeText is what codes look like.
var codeText = regexp.MustCompile(`^(S\d\d|[a-z]+(-[a-z]+)+)$`)

// codesInSource finds every literal that is given as a code: to a function that
// adds a finding, to a Finding itself, to a log field of that name.
func codesInSource(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	used := make(map[string]string)
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", folder, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, src, 0)
			if err != nil {
				t.Fatal(err)
			}
			note := func(e ast.Expr, suffix string) {
				if code, ok := codeOf(e); ok {
					used[code+suffix] = set.Position(e.Pos()).String()
				}
			}
			ast.Inspect(file, func(n ast.Node) bool { noteCodes(n, note); return true })
		}
	}
	return used
}

func noteCodes(n ast.Node, note func(ast.Expr, string)) {
	switch n := n.(type) {
	case *ast.CallExpr:
		switch called(n.Fun) {
		case "add", "problem", "finding":
			note(n.Args[0], "")
		case "edit":
			note(n.Args[0], repairedSuffix)
		}
	case *ast.AssignStmt: // rule := "S02" in a repair
		if name, ok := n.Lhs[0].(*ast.Ident); ok && name.Name == "rule" {
			note(n.Rhs[0], repairedSuffix)
		}
		if target, ok := n.Lhs[0].(*ast.SelectorExpr); ok && target.Sel.Name == "Code" {
			note(n.Rhs[0], "")
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
			note(n.Value, "")
		}
	case *ast.CompositeLit:
		name, _ := n.Type.(*ast.Ident)
		if len(n.Elts) > 0 && (n.Type == nil || name != nil && name.Name == "Finding") && len(n.Elts) == 4 {
			note(n.Elts[0], "")
		}
	case *ast.SelectorExpr: // the codes that have a name outside
		if p, ok := n.X.(*ast.Ident); ok && p.Name == "openai" {
			named := map[string]string{"SettingsRefused": SettingsRefused, "MentionsRefused": MentionsRefused, "FormRefused": FormRefused}
			note(&ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(named[n.Sel.Name]), ValuePos: n.Pos()}, "")
		}
	}
}

func called(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	default:
		return ""
	}
}

func codeOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil && codeText.MatchString(text)
}
