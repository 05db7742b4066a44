package conformance

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/node"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
)

// revisions are the requirement sets, each with the mode of the server that
// implements it.
var revisions = []struct {
	name, stateless, upstream string
	scored                    int // scenarios
}{
	{"2025-11-25", "-stateless=false", "STATEFUL", 30},
	{"2026-07-28", "-stateless=true", "STATELESS", 37},
}

// variants are the sites of the Caddyfile, by the variable with their port.
var variants = []struct{ name, port string }{
	{"open", "OPEN"},
	{"compressed", "COMPRESSED"},
	{"strict", "STRICT"},
}

// TestConformance runs both requirement sets directly and through every variant
// of the gateway: no check may have another outcome, no scored one may fail.
func TestConformance(t *testing.T) {
	tools := node.Require(t)
	server := buildServer(t)
	for _, revision := range revisions {
		address := node.Address(t)
		node.Serve(t, exec.CommandContext(t.Context(), server, "-http="+address, revision.stateless), address)
		t.Setenv(revision.upstream, address)
	}
	startGateway(t)
	expected := readExpected(t)
	for _, revision := range revisions {
		t.Run(revision.name, func(t *testing.T) {
			direct := run(t, tools, "http://"+strings.Replace(os.Getenv(revision.upstream), "127.0.0.1", "localhost", 1)+"/", revision.name)
			judge(t, direct, revision.scored, func(string) bool { return false })
			for _, variant := range variants {
				t.Run(variant.name, func(t *testing.T) {
					through := run(t, tools, "http://localhost:"+os.Getenv(variant.port)+"/"+revision.name, revision.name)
					excused := func(check string) bool { return expected.expects(variant.name, revision.name, check) }
					judge(t, through, revision.scored, excused)
					for _, d := range compare(direct, through) {
						if !excused(d.scenario + " " + d.id) {
							t.Errorf("%s %s differs:\ndirect  %+v\nthrough %+v", d.scenario, d.id, d.direct, d.through)
						}
					}
				})
			}
		})
	}
	for line, seen := range expected {
		if !seen {
			t.Errorf("expected-failures.txt lists %q, which does not fail", line)
		}
	}
}

// judge logs the totals of a run and holds it to the requirements, which the
// unscored scenarios (extensions, pending ones) are no part of.
func judge(t *testing.T, r report, want int, excused func(check string) bool) {
	t.Helper()
	scenarios, failed := r.scored()
	t.Logf("%d scenarios scored, %d not; checks: %d passed, %d failed, %d others", scenarios, len(r.unscored),
		r.count("SUCCESS"), r.count("FAILURE"), r.count("INFO")+r.count("WARNING")+r.count("SKIPPED"))
	if scenarios != want {
		t.Errorf("%d scored scenarios ran, want %d", scenarios, want)
	}
	for name, c := range failed {
		if !excused(name) {
			t.Errorf("scored check failed: %s: %s", name, c.ErrorMessage)
		}
	}
	// The suite knows better than we what fails a scenario.
	if !r.passed && len(failed) == 0 {
		t.Error("the suite says that scored scenarios failed")
	}
}

// buildServer builds the SDK's server for this suite, from the version that
// this module requires.
func buildServer(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "everything-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, output)
	}
	return file
}

// startGateway runs all variants in one Caddy.
func startGateway(t *testing.T) {
	t.Helper()
	for _, name := range []string{"OPEN", "COMPRESSED", "STRICT", "PROTECTED"} {
		t.Setenv(name, node.Port(t, node.Address(t)))
	}
	caddyfile, err := os.ReadFile("Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := stack.Start(t.Context(), stack.Config{Caddyfile: caddyfile, Upstream: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			if log, err := os.ReadFile(gateway.LogFile); err == nil {
				t.Logf("log of the gateway, at its end:\n%s", log[max(0, len(log)-8<<10):])
			}
		}
		if err := gateway.Close(); err != nil {
			t.Errorf("closing the gateway: %v", err)
		}
	})
	var audience []string
	for _, revision := range revisions {
		audience = append(audience, "http://localhost:"+os.Getenv("STRICT")+"/"+revision.name)
	}
	token, err := gateway.Issuer.Issue(issuer.Grant{Subject: "suite", Audience: audience})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONFORMANCE_TOKEN", token)
}
