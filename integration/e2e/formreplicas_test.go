package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// asking answers a call with a form of OpenAI, and the same call with answers by
// its result.
func asking(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	result := `{"resultType":"input_required","requestState":"s","inputRequests":{"pick":{"method":"elicitation/create","params":{"mode":"form","message":"How many?",` +
		`"requestedSchema":{"type":"object","properties":{}},"_meta":{"openai/elicitation":{"requestedSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":3}}}}}}}}}`
	if strings.Contains(string(body), "inputResponses") {
		result = `{"resultType":"complete","content":[]}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":7,"result":`+result+`}`)
}

// A form that one Caddy has shown is answered at another: with a Redis between
// them the good answer passes and the bad one does not, without one neither does.
func TestAFormIsAnsweredAtAnotherCaddy(t *testing.T) {
	for name, line := range states(t) {
		t.Run(name, func(t *testing.T) {
			body := endpoint(allTools + "openai {\n\tforms check\n}\n" + line)
			g := start(t, stackWith(site(body), http.HandlerFunc(asking)))
			here := g.caller(t, modern, viewer("acme"))
			client, url := g.replica(t, body)
			there := &caller{client, url, modern, here.header}
			ask := func(c *caller, more string) *answer {
				meta := strings.Replace(modernMeta, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"openai/elicitation":{"form":{}}}}`, 1)
				return c.post(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"order","arguments":{}`+more+`,"_meta":`+meta+`}}`,
					http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"order"}})
			}
			if a := ask(here, ""); !strings.Contains(string(a.body), "How many?") {
				t.Fatalf("the form: %s", a)
			}
			good, bad := http.StatusOK, http.StatusBadRequest
			if name == "memory" {
				good = http.StatusBadRequest
			}
			wantStatus(t, "a bad answer", ask(there, `,"requestState":"s","inputResponses":{"pick":{"action":"accept","content":{"n":4}}}`), bad)
			wantStatus(t, "a good answer", ask(there, `,"requestState":"s","inputResponses":{"pick":{"action":"accept","content":{"n":3}}}`), good)
			wantStatus(t, "a good answer where it was asked", ask(here, `,"requestState":"s","inputResponses":{"pick":{"action":"accept","content":{"n":3}}}`), http.StatusOK)
		})
	}
}
