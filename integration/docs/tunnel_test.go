package docs

import (
	"regexp"
	"strings"
	"testing"
)

// The page about the tunnel names each file once, the same everywhere: the
// profile that the service runs, and the credential under the service's name.
func TestTheTunnelPageNamesTheSameFiles(t *testing.T) {
	text := read(t, "docs/tunnel.md")
	find := func(pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("the page has no %s", pattern)
		}
		return found[1]
	}
	section := func(name string) string {
		_, rest, _ := strings.Cut(text, "\n## "+name+"\n")
		rest, _, _ = strings.Cut(rest, "\n## ")
		return rest
	}
	profile := find(`--profile-file (\S+)`)
	if !strings.Contains(section("The client's profile"), "`"+profile+"`") {
		t.Errorf("the service runs %s, which the profile's section does not name", profile)
	}
	unit := find("`/etc/systemd/system/([a-z-]+\\.service)`")
	credential := find(`LoadCredential=([a-z_]+):`)
	if want := "api_key: file:/run/credentials/" + unit + "/" + credential; !strings.Contains(text, want) {
		t.Errorf("the profile has no %q", want)
	}
}
