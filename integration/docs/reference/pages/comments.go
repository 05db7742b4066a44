package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// comment returns what the code says about a type, or about one field of it, as
// one line of Markdown.
func (c *collector) comment(t reflect.Type, field string) (string, error) {
	known := c.comments[t.PkgPath()]
	if known == nil {
		var err error
		if known, err = readComments(c.root, t.PkgPath()); err != nil {
			return "", err
		}
		c.comments[t.PkgPath()] = known
	}
	name := t.Name()
	if field != "" {
		name += "." + field
	}
	// Of raw JSON the field's name in Go is nothing to a reader.
	text := known[name]
	if raw, ok := strings.CutSuffix(field, "Raw"); ok {
		text = raw + strings.TrimPrefix(text, field)
	}
	return oneLine(text), nil
}

// readComments reads the doc comments of all struct types of a package.
func readComments(root, path string) (map[string]string, error) {
	_, inside, _ := strings.Cut(path, "github.com/caddy-mcp-app/caddy-mcp-app/")
	dir := filepath.Join(root, filepath.FromSlash(inside))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	comments := make(map[string]string)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading the comments: %w", err)
		}
		for _, declaration := range file.Decls {
			types, ok := declaration.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				collectComments(spec.(*ast.TypeSpec), types.Doc, comments)
			}
		}
	}
	return comments, nil
}

func collectComments(spec *ast.TypeSpec, doc *ast.CommentGroup, comments map[string]string) {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	if spec.Doc != nil {
		doc = spec.Doc
	}
	comments[spec.Name.Name] = doc.Text()
	for _, f := range structure.Fields.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, name := range f.Names {
			comments[spec.Name.Name+"."+name.Name] = text
		}
	}
}

// oneLine makes a comment fit for the cell of a table.
func oneLine(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 { // code spans show what stands in them
		parts[i] = strings.NewReplacer("<", "&lt;", "[", `\[`, "]", `\]`, "*", `\*`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
