package caddymodule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/encode/gzip" // for a directive beside ours
)

// separator stands between a Caddyfile and its JSON, as in Caddy's own tests.
const separator = "\n----------\n"

// indented renders JSON the same whatever its blanks.
func indented(t testing.TB, raw string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(raw), "", "\t"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// With UPDATE_GOLDEN set, the test writes down what the files adapt to.
func TestCaddyfilesAdaptToTheirJSON(t *testing.T) {
	for _, key := range []string{"MCP_APP_SEAL_KEY", "MCP_APP_OLD_SEAL_KEY"} {
		t.Setenv(key, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	}
	files, err := filepath.Glob("testdata/caddyfile/*.caddyfiletest")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source, want, _ := strings.Cut(string(raw), separator)
			if formatted := string(caddyfile.Format([]byte(source + "\n"))); formatted != source+"\n" {
				t.Errorf("not as `caddy fmt` writes it; want\n%s", formatted)
			}
			adapted, err := adapt(source)
			if err != nil {
				t.Fatal(err)
			}
			got := indented(t, adapted)
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(file, []byte(source+separator+got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != strings.TrimSpace(want) {
				t.Errorf("adapts to\n%s\nwant\n%s", got, want)
			}
			if err := validate(t, source); err != nil {
				t.Errorf("does not load: %v", err)
			}
		})
	}
}

// The JSON form has the same words: what the adapter writes is read back
// strictly, and nothing of it is lost.
func TestTheAdaptedJSONIsReadBack(t *testing.T) {
	raw, err := os.ReadFile("testdata/caddyfile/full.caddyfiletest")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(raw), "mcp_app /mcp")
	block, _, _ = strings.Cut(block, separator)
	var first, second Handler
	if err := first.UnmarshalCaddyfile(caddyfile.NewTestDispenser("mcp_app /mcp" + strings.TrimSuffix(strings.TrimSpace(block), "}"))); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(&first)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(written))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&second); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&second)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(written) {
		t.Errorf("written\n%s\nread back as\n%s", written, again)
	}
}

// No Caddyfile, however broken, may end in anything but an error.
func FuzzCaddyfile(f *testing.F) {
	files, err := filepath.Glob("testdata/caddyfile/*.caddyfiletest")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		source, _, _ := strings.Cut(string(raw), separator)
		if _, block, ok := strings.Cut(source, "mcp_app"); ok {
			f.Add("mcp_app" + block)
		}
	}
	for _, seed := range []string{"mcp_app", "mcp_app /mcp {", "mcp_app /mcp { auth", "mcp_app /mcp {\nauth {\nissuer\n}\n}", "mcp_app /mcp {\nopenai {\nannotation\n}\n}", "}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := caddyfile.Tokenize([]byte(text), "Caddyfile")
		if err != nil {
			return
		}
		m := new(Handler)
		err = m.UnmarshalCaddyfile(caddyfile.NewDispenser(tokens))
		if err == nil && !strings.HasPrefix(m.Path, "/") {
			t.Errorf("accepted with the path %q", m.Path)
		}
	})
}

// A policy may name every tool of a large server.
func TestManyRulesAreReadInNoTime(t *testing.T) {
	var rules strings.Builder
	for i := range 250 {
		fmt.Fprintf(&rules, "tool group%d.tool_number_%d\n", i%7, i)
	}
	done := make(chan error, 1)
	go func() {
		_, err := adapt("https://gw.example {\n\tmcp_app /mcp {\nauth {\nmode none\n}\npolicy {\n" + rules.String() + "}\n\t}\n}\n")
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("250 rules take more than 10 seconds")
	}
}
