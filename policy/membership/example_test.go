package membership_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/membership"
)

// A file names members; whoever is not in it is a stranger.
func Example() {
	dir, err := os.MkdirTemp("", "members")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Join(dir, "members.json")
	content := `{"members":[{"issuer":"https://login.example.com","subject":"ann","tenant":"acme","roles":["editor"]}]}`
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	file, err := membership.NewFile(membership.FileConfig{Path: name})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, subject := range []string{"ann", "bob"} {
		m, err := file.Member(context.Background(), "https://login.example.com", subject, "acme")
		fmt.Println(m.Member, m.Roles, err)
	}
	// Output:
	// true [editor] <nil>
	// false [] <nil>
}
