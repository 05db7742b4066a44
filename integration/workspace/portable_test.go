package workspace

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// accepted are rules that are not about being read everywhere: hosts with strict
// schemas want every property required (S08) and no minProperties, which settings
// need (S09), and the names of settings tools have dots by convention (S15).
var accepted = []string{"S08", "S09 settings.update", "S15"}

func TestEveryHostCanReadTheSchemas(t *testing.T) {
	eachEra(t, editor, func(t *testing.T, _ *Server, c *mcp.ClientSession) {
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		var tools []rawjson.Value
		for _, tool := range list.Tools {
			text, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := rawjson.Parse(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, raw)
			for _, found := range openai.LintTool(raw) {
				if !accept(found.Code, tool.Name) {
					t.Errorf("%s: %s %s (%s)", tool.Name, found.Code, found.Detail, found.Fix)
				}
			}
		}
		for _, found := range openai.LintCatalog(tools) {
			t.Errorf("%s %s: %s", found.Code, found.Subject, found.Detail)
		}
	})
}

func accept(code, tool string) bool {
	return slices.Contains(accepted, code) || slices.Contains(accepted, code+" "+tool)
}

// probes are texts that a pattern may take or not, the odd ones among them.
var probes = []string{
	"", "a", "A", "0", "-", "a-b", "roadmap", "road map", "Road", "launch-note", "a.b:c_d", "_a", "é", "aé", "en", "eng", "pt-BR", "pt-br", "en-", "en-USA",
	strings.Repeat("a", 64), strings.Repeat("a", 65), "٣", "a٣", "ａ",
}

// Python takes $ before a last line feed and \d for digits of all scripts; a
// pattern of ours must not depend on that.
func TestPatternsMeanTheSameToPythonAndRE2(t *testing.T) {
	_, endpoint := start(t, Config{})
	c := connect(t, endpoint, eras[1], editor)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	var patterns []string
	for _, tool := range list.Tools {
		for _, schema := range []any{tool.InputSchema, tool.OutputSchema} {
			patterns = append(patterns, patternsIn(schema)...)
		}
	}
	if len(patterns) < 5 {
		t.Fatalf("only %d patterns found: %q", len(patterns), patterns)
	}

	want := make([][]bool, len(patterns))
	for i, p := range patterns {
		re2, err := regexp.Compile(p)
		if err != nil {
			t.Fatalf("RE2: %v", err)
		}
		for _, text := range probes {
			want[i] = append(want[i], re2.MatchString(text))
		}
	}

	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("MCP_APP_CI") == "1" {
			t.Fatal("no python3 in PATH")
		}
		t.Skip("no python3 in PATH")
	}
	input, err := json.Marshal([][]string{patterns, probes})
	if err != nil {
		t.Fatal(err)
	}
	ask := exec.CommandContext(t.Context(), python, "-c",
		"import json, re, sys; ps, ts = json.load(sys.stdin); print(json.dumps([[bool(re.search(p, t)) for t in ts] for p in ps]))")
	ask.Stdin = strings.NewReader(string(input))
	ask.Stderr = os.Stderr
	out, err := ask.Output()
	if err != nil {
		t.Fatalf("Python refuses a pattern among %q: %v", patterns, err)
	}
	var got [][]bool
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for i, p := range patterns {
		for j, text := range probes {
			if got[i][j] != want[i][j] {
				t.Errorf("%s on %q: Python %t, RE2 %t", p, text, got[i][j], want[i][j])
			}
		}
	}
}

// patternsIn collects the patterns of a decoded schema.
func patternsIn(schema any) (found []string) {
	switch v := schema.(type) {
	case map[string]any:
		for key, member := range v {
			if text, ok := member.(string); ok && key == "pattern" {
				found = append(found, text)
				continue
			}
			found = append(found, patternsIn(member)...)
		}
	case []any:
		for _, element := range v {
			found = append(found, patternsIn(element)...)
		}
	}

	return found
}
