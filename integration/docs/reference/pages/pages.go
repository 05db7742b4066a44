// Package pages makes the documents that are generated from the code: the
// reference and the drawing of a request's walk. What it makes is kept in the
// repository, and a test compares the two.
package pages

// Generated names each document, from the root of the repository, and what makes
// it. The argument is the root.
var Generated = map[string]func(root string) ([]byte, error){
	"docs/reference.md": Reference,
	"docs/findings.md":  Findings,
	"docs/walk.svg":     Walk,
}
