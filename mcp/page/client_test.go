package page

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
)

// TestClientIsSmallAndPlain: it costs a page little and needs no permission that
// the default content security policy of MCP Apps does not give.
func TestClientIsSmallAndPlain(t *testing.T) {
	t.Parallel()
	if len(code) >= 10000 {
		t.Errorf("the client has %d bytes minified, want fewer than 10,000", len(code))
	}
	for i := range len(minified) {
		if c := minified[i]; c >= 0x80 {
			t.Fatalf("byte %#x at %d: a page in another encoding would break it", c, i)
		}
	}
	for _, form := range []string{code, module} {
		for _, word := range []string{
			"eval(", "Function(", "fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "import(", "innerHTML", "outerHTML",
			"insertAdjacentHTML", "document.write", "localStorage", "sessionStorage", "cookie", "</script", "<!--", "<script",
		} {
			if strings.Contains(strings.ToLower(form), strings.ToLower(word)) {
				t.Errorf("the client contains %q", word)
			}
		}
		if !strings.Contains(form, marker) {
			t.Errorf("the client does not contain %q, so a page that carries it cannot be told", marker)
		}
	}
	if strings.Contains(code, "export") || strings.Contains(module, "\nimport ") {
		t.Error("the script exports, or the module imports")
	}
	for _, name := range []string{"connect", "isAppURL", "PageError"} {
		if !strings.Contains(Module(), " "+name) || !strings.Contains(Declarations(), " "+name) {
			t.Errorf("%s is not exported and declared", name)
		}
	}
}

// TestHashIsThatOfTheScript as a browser would compute it from the page.
func TestHashIsThatOfTheScript(t *testing.T) {
	t.Parallel()
	got, _ := injector(t, Page{Navigate: "open"}).Content(pageItem(t, "<head>"))
	text, _ := got.Get("text").Text()
	_, inner, _ := strings.Cut(text, `}">`)
	inner, _, _ = strings.Cut(inner, "</script>")
	sum := sha256.Sum256([]byte(inner))
	if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; Hash() != want {
		t.Errorf("Hash() = %s, want %s", Hash(), want)
	}
}
