package docs

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	_ "github.com/caddyserver/caddy/v2/modules/standard" // what a Caddyfile may use

	_ "github.com/caddy-mcp-app/caddy-mcp-app/caddymodule" // what the documents are about
)

// fragmentHead and fragmentTail make a whole Caddyfile of lines that stand
// inside mcp_app.
const (
	fragmentHead = "mcp.example.com {\n\tmcp_app /mcp 127.0.0.1:3000 {\n"
	fragmentTail = "\t}\n}\n"
)

// TestCaddyfilesAreValid takes every Caddyfile that a reader could copy. Blocks
// marked `caddyfile` are whole files and go through everything that `caddy
// validate` does; blocks marked `caddyfile fragment` are lines inside mcp_app
// and are adapted only, since the rest of their block is missing.
func TestCaddyfilesAreValid(t *testing.T) {
	// Validation makes certificates for local names; not in the user's storage.
	caddy.DefaultStorage.Path = t.TempDir()
	// What the operator keeps in the environment, as the manifests tell.
	t.Setenv("MCP_APP_SEAL_KEY", base64.StdEncoding.EncodeToString(make([]byte, 32)))
	whole := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			name := fmt.Sprintf("%s:%d", d.path, b.line)
			switch b.info {
			case "caddyfile":
				whole++
				t.Run(name, func(t *testing.T) { validate(t, adapt(t, b.text)) })
			case "caddyfile fragment":
				t.Run(name, func(t *testing.T) { adapt(t, fragmentHead+indent(b.text)+fragmentTail) })
			default:
				if strings.HasPrefix(strings.ToLower(b.info), "caddy") {
					t.Errorf("%s: a block marked %q is checked by nobody; write caddyfile, or caddyfile fragment", name, b.info)
				}
			}
		}
	}
	for _, path := range files(t, isCaddyfile) {
		if strings.HasPrefix(path, "integration/") {
			continue // the tests there run them, with ports filled in
		}
		whole++
		t.Run(path, func(t *testing.T) { validate(t, adapt(t, read(t, path))) })
	}
	for _, path := range files(t, func(name string) bool { return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") }) {
		for line, text := range insideYAML(read(t, path)) {
			whole++
			t.Run(fmt.Sprintf("%s:%d", path, line), func(t *testing.T) { validate(t, adapt(t, text)) })
		}
	}
	if whole < 2 {
		t.Errorf("only %d Caddyfiles found; README.md and Caddyfile.example have one each at least", whole)
	}
}

// yamlCaddyfile begins a Caddyfile in a ConfigMap or the configs of Compose.
var yamlCaddyfile = regexp.MustCompile(`^( *)[\w.-]*(?i:caddyfile)[\w.-]*: *\|[-+]?$`)

// insideYAML finds the Caddyfiles that stand as block scalars in a YAML file, by
// the line in which they begin.
func insideYAML(text string) map[int]string {
	found := make(map[int]string)
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		match := yamlCaddyfile.FindStringSubmatch(lines[i])
		if match == nil {
			continue
		}
		start, indent := i+2, -1
		var b strings.Builder
		for i++; i < len(lines); i++ {
			depth := len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
			if strings.TrimSpace(lines[i]) != "" && depth <= len(match[1]) {
				break
			}
			if indent < 0 {
				indent = depth
			}
			b.WriteString(lines[i][min(indent, depth):] + "\n")
		}
		i--
		found[start] = strings.TrimRight(b.String(), "\n") + "\n"
	}
	return found
}

func TestCaddyfilesAreFoundInYAML(t *testing.T) {
	found := insideYAML("data:\n  Caddyfile: |\n    :80 {\n    \trespond ok\n    }\n\n  other: |\n    x\n")
	if len(found) != 1 || found[3] != ":80 {\n\trespond ok\n}\n" {
		t.Errorf("found %v", found)
	}
}

func isCaddyfile(name string) bool {
	return name == "Caddyfile" || strings.HasPrefix(name, "Caddyfile.") || strings.HasSuffix(name, ".caddyfile")
}

// indent moves lines into the two blocks of fragmentHead.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("\t\t")
		}
		b.WriteString(line)
	}
	return b.String()
}

// adapt checks that a Caddyfile is formatted and understood, without warnings,
// and returns its JSON.
func adapt(t *testing.T, text string) []byte {
	t.Helper()
	if formatted := string(caddyfile.Format([]byte(text))); formatted != text {
		t.Errorf("not formatted as `caddy fmt` does:\n%s\nwant:\n%s", text, formatted)
	}
	config, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, warning := range warnings {
		t.Errorf("%s", warning)
	}
	return config
}

// validate does what `caddy validate` does with an adapted configuration.
func validate(t *testing.T, raw []byte) {
	t.Helper()
	var config *caddy.Config
	if err := caddy.StrictUnmarshalJSON(caddy.RemoveMetaFields(raw), &config); err != nil {
		t.Fatal(err)
	}
	if err := caddy.Validate(config); err != nil {
		t.Fatal(err)
	}
}
