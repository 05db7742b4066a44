package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
)

// expanding are texts that some template of Caddy would replace by something.
const expanding = "{env.E2E_SECRET}{$E2E_SECRET}{{env `E2E_SECRET`}}{http.request.header.Authorization}{file./etc/hostname}"

// holding is the grant of an editor whose token says something else in one claim.
func (g *gateway) holding(t *testing.T, claim string, value any) *caller {
	t.Helper()
	grant := g.grant(editor("acme"))
	grant.Claims[claim] = value
	return &caller{g.client, g.URL("acme"), legacy, http.Header{"Authorization": {"Bearer " + g.issue(t, grant)}}}
}

// What a token or a client says may look like a placeholder. It stays what it
// is: before the server, in headers made from it, in logs and in answers.
func TestWhatTokensAndClientsSayIsNeverExpanded(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	t.Setenv("E2E_SECRET", secret)
	server := pong()
	g := startBefore(t, server, "log {\n\toutput {$GATEWAY_LOG}\n}\nroute {\n"+endpointWithout(strings.Replace(allTools, "policy {", "policy {\n\tmethod *\n", 1)+"methods *\naudit {\n\tallow all\n\targuments * title\n}\n")+placeholders+"}\n")
	c := g.holding(t, "sub", expanding)
	hostile := func(c *caller) []*answer {
		return []*answer{
			c.post(t, `{"jsonrpc":"2.0","id":"`+expanding+`","method":"tools/call","params":{"name":"`+expanding+`","arguments":{"`+expanding+`":1,"title":"`+expanding+`"}}}`, http.Header{"X-Note": {expanding}}),
			c.post(t, `{"jsonrpc":"2.0","id":7,"method":"`+expanding+`"}`, nil),
			c.post(t, pingBody, http.Header{"Mcp-Session-Id": {expanding}}),
			c.post(t, pingBody, http.Header{"Mcp-Protocol-Version": {expanding}}),
			c.post(t, pingBody, http.Header{"Origin": {"https://" + expanding}}),
			c.send(t, http.MethodPost, c.url+"?"+strings.NewReplacer("{", "%7B", "}", "%7D", " ", "%20").Replace(expanding), pingBody, nil),
		}
	}
	answers := slices.Concat(hostile(c), hostile(g.nobody()))
	answers = append(answers, g.nobody().post(t, pingBody, http.Header{"Authorization": {"Bearer " + expanding}}))
	for _, a := range answers {
		if strings.Contains(string(a.body), secret) || strings.Contains(strings.Join(a.header.Values("WWW-Authenticate"), ""), secret) {
			t.Errorf("the answer says the secret: %s", a)
		}
	}
	seen := server.seen()
	if len(seen) == 0 {
		t.Fatal("nothing reached the server")
	}
	token := strings.TrimPrefix(c.header.Get("Authorization"), "Bearer ")
	for _, r := range seen {
		if got := r.header.Get("X-Mcp-App-Subject"); got != expanding {
			t.Errorf("the server is told the subject %q", got)
		}
		if got := r.header.Get("X-Seen"); !strings.HasPrefix(got, expanding+"|") {
			t.Errorf("a header made of placeholders says %q", got)
		}
		for name, values := range r.header {
			if text := strings.Join(values, "\n"); strings.Contains(text, secret) || strings.Contains(text, token) {
				t.Errorf("the server is told a secret in %s: %q", name, text)
			}
		}
	}
	if log := g.log(t); strings.Contains(log, secret) || strings.Contains(log, token) || !strings.Contains(log, "E2E_SECRET") {
		t.Errorf("the log says a secret, or nothing of the matter:\n%s", log)
	}
}

// A tenant that looks like a placeholder is no tenant, whatever it would be
// replaced by.
func TestATenantIsNeverExpanded(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools))
	for _, tenant := range []any{"{http.request.host.labels.1}", []string{"{http.request.host.labels.1}"}, "{$USER}", "{env.USER}", "*", ".*"} {
		wantStatus(t, "ping", g.holding(t, "org_id", tenant).post(t, pingBody, nil), http.StatusForbidden)
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("the server saw %v", got)
	}
}

// lineBreaks end a line for some reader.
var lineBreaks = map[string]string{
	"CRLF": "\r\n", "LF": "\n", "CR": "\r", "NUL": "\x00", "VT": "\v", "FF": "\f", "NEL": "\u0085", "ESC": "\x1b[2J", "DEL": "\x7f", "LS": "\u2028", "PS": "\u2029", "RLO": "\u202e",
}

// A claim with a line break would be two headers for the server.
func TestLineBreaksInClaimsMakeNoHeaders(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools))
	for name, lineBreak := range lineBreaks {
		forged := "erin" + lineBreak + "X-Mcp-App-Tenant: globex"
		for claim, values := range map[string][]any{
			"sub":       {forged, forged + lineBreak, lineBreak + forged},
			"org_id":    {"acme" + lineBreak + "X-Mcp-App-Tenant: globex", []string{"acme", "globex" + lineBreak}},
			"scope":     {"mcp.use" + lineBreak + "decks.write", "mcp.use decks" + lineBreak},
			"client_id": {forged},
			"jti":       {forged},
			"iss":       {g.Issuer.URL + lineBreak},
			"aud":       {g.URL("acme") + lineBreak},
		} {
			for _, value := range values {
				a := g.holding(t, claim, value).post(t, pingBody, nil)
				wantStatus(t, name+" in "+claim, a, http.StatusUnauthorized, http.StatusForbidden)
				if got := strings.Join(a.header.Values("WWW-Authenticate"), " "); strings.Contains(got, "globex") {
					t.Errorf("%s in %s: the challenge says %q", name, claim, got)
				}
			}
		}
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("the server saw %v", got)
	}
}

// Whoever may choose a user name must not be somebody else for a server that
// trims, folds or cuts it.
func TestASubjectWithBlanksAroundItIsNobody(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools))
	for _, sub := range []string{" erin", "erin ", "\terin", "erin\u00a0", "\u2003erin", "", strings.Repeat("e", 1025)} {
		wantStatus(t, "sub "+sub, g.holding(t, "sub", sub).post(t, pingBody, nil), http.StatusUnauthorized)
	}
	if got := server.seen(); len(got) != 0 {
		t.Errorf("the server saw %v", got)
	}
}

// colour is what Caddy's console format puts around levels.
var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Names from outside are in the log, and must not write lines of their own
// there, nor move a terminal that shows it.
func TestTheLogStaysOneRecordALine(t *testing.T) {
	for _, format := range []string{"json", "console"} {
		t.Run(format, func(t *testing.T) {
			server := pong()
			text := strings.Replace(string(site("log {\n\toutput {$GATEWAY_LOG}\n\tformat "+format+"\n}\n"+endpoint("methods *\nrate_limit 1000 1m per principal\naudit {\n\tallow all\n\targuments * title\n}\n"+allTools))), "level INFO", "level DEBUG\n\t\tformat "+format, 1)
			g := start(t, stackWith([]byte(text), server))
			for name, lineBreak := range lineBreaks {
				forged := "x" + lineBreak + `{"level":"error","logger":"forged","msg":"` + name + `"}` + "\u2028\u202e"
				quoted := string(marshal(t, forged))
				c := g.bearer(t, editor("acme"))
				for _, c := range []*caller{c, g.nobody()} {
					c.post(t, `{"jsonrpc":"2.0","id":`+quoted+`,"method":"tools/call","params":{"name":`+quoted+`,"arguments":{`+quoted+`:1,"title":`+quoted+`}}}`, nil)
					c.post(t, `{"jsonrpc":"2.0","id":7,"method":`+quoted+`}`, nil)
					c.read(t, "ui://"+forged)
					c.post(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","_meta":{"openai/subject":`+quoted+`}}}`, nil)
				}
				g.holding(t, "org_id", forged).post(t, pingBody, nil)
				g.holding(t, "sub", forged).post(t, pingBody, nil)
				g.holding(t, "iss", forged).post(t, pingBody, nil)
				c.url = strings.TrimSuffix(c.url, "/mcp") + "/mcp?x=%0a%0dforged"
				c.post(t, pingBody, nil)
			}
			log := g.log(t)
			if !strings.Contains(log, "forged") {
				t.Fatalf("the log says nothing of it:\n%s", log)
			}
			lines := bufio.NewScanner(strings.NewReader(log))
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				line := colour.ReplaceAllString(lines.Text(), "")
				if format == "json" && !json.Valid([]byte(line)) || strings.HasPrefix(line, `{"level":"error","logger":"forged"`) {
					t.Fatalf("not a record: %q", line)
				}
				if strings.ContainsAny(line, "\x00\x1b\v\f\r\u0085\u2028\u2029\u202e\x7f") {
					t.Fatalf("a reader would act on %q", line)
				}
			}
		})
	}
}

// The subject is part of the question to the membership service, and must not
// be able to say something else in it.
func TestASubjectAsksTheMembershipServiceOneQuestionOnly(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				mu.Lock()
				defer mu.Unlock()
				said, _ := json.Marshal(r.Form)
				if r.Header.Get("Content-Type") == "application/json" {
					var body map[string]any
					_ = json.NewDecoder(r.Body).Decode(&body)
					said, _ = json.Marshal(body)
				}
				asked = append(asked, r.URL.Path+" "+string(said))
				_, _ = w.Write([]byte(`{"member":true}`))
			}))
			t.Cleanup(service.Close)
			g := startBefore(t, pong(), strings.Replace(endpoint(allTools), "claim org_id", "claim org_id\nmembers http "+service.URL+"/members {\nmethod "+method+"\n}", 1))
			for _, sub := range []string{"a&tenant=globex", "a;tenant=globex", "a#", "../admin", "a%26tenant=globex", `a","tenant":"globex`, "{env.HOME}"} {
				mu.Lock()
				asked = nil
				mu.Unlock()
				wantStatus(t, sub, g.holding(t, "sub", sub).post(t, pingBody, nil), http.StatusOK)
				mu.Lock()
				for _, question := range asked {
					inJSON := string(marshal(t, sub))
					if !strings.HasPrefix(question, "/members ") || !strings.Contains(question, inJSON) || !strings.Contains(strings.NewReplacer("[", "", "]", "").Replace(question), `,"tenant":"acme"}`) {
						t.Errorf("%q asks %s", sub, question)
					}
				}
				if len(asked) == 0 {
					t.Errorf("%q: nobody was asked", sub)
				}
				mu.Unlock()
			}
		})
	}
}

// elsewhere counts who is sent to it.
func elsewhere(t *testing.T) (address string, visits func() int) {
	t.Helper()
	rec := record(answerWith(http.StatusOK, map[string]string{"Content-Type": "application/json"}, `{"member":true,"active":true,"keys":[],"access_token":"t"}`))
	server := httptest.NewServer(rec)
	t.Cleanup(server.Close)
	return server.URL, func() int { return len(rec.seen()) }
}

// Whoever answers for a service of the operator cannot send the gateway, with
// what it carries, to somewhere else.
func TestNoRedirectLeadsTheGatewayElsewhere(t *testing.T) {
	t.Setenv("E2E_CLIENT_SECRET", "correct horse")
	for name, tt := range map[string]struct {
		body   func(redirecting string) string
		status int
	}{
		"key set": {func(url string) string {
			return strings.Replace(endpoint(allTools), "jwks_url {$ISSUER}/keys", "jwks_url "+url, 1)
		}, http.StatusServiceUnavailable},
		"membership": {func(url string) string {
			return strings.Replace(endpoint(allTools), "claim org_id", "claim org_id\nmembers http "+url, 1)
		}, http.StatusServiceUnavailable},
		"introspection": {func(url string) string {
			return "mcp_app /mcp {$WORKSPACE} {\n" + resource + strings.Replace(introspecting("jwts"), "{$ISSUER}/introspect", url, 1) + tenants + allTools + "}\n"
		}, http.StatusServiceUnavailable},
		"token exchange": {func(url string) string {
			return strings.Replace(exchanging(""), "{$ISSUER}/token", url, 1)
		}, http.StatusServiceUnavailable},
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(name, func(t *testing.T) {
				target, visits := elsewhere(t)
				asked := record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target+"/secret", status) }))
				redirecting := httptest.NewServer(asked)
				t.Cleanup(redirecting.Close)
				server := pong()
				g := startBefore(t, server, tt.body(redirecting.URL))
				wantStatus(t, "ping", g.bearer(t, editor("acme")).post(t, pingBody, nil), tt.status, http.StatusBadGateway)
				if len(asked.seen()) == 0 {
					t.Error("the service was not asked")
				}
				if visits() != 0 || len(server.seen()) != 0 {
					t.Errorf("%d: elsewhere was asked %d times, the server %d times", status, visits(), len(server.seen()))
				}
			})
		}
	}
}

// Nothing that stands in a token makes the gateway go anywhere: not its issuer,
// not the places where its header says that keys are.
func TestATokenSendsTheGatewayNowhere(t *testing.T) {
	target, visits := elsewhere(t)
	server := pong()
	g := startBefore(t, server, endpoint(allTools))
	for name, change := range map[string]func(*issuer.Grant){
		"iss": func(grant *issuer.Grant) { grant.Claims["iss"] = target },
		"jku": func(grant *issuer.Grant) { grant.Header = map[string]any{"jku": target + "/keys", "kid": "unknown"} },
		"x5u": func(grant *issuer.Grant) {
			grant.Header = map[string]any{"x5u": target + "/chain.pem", "kid": "unknown"}
		},
		"kid":         func(grant *issuer.Grant) { grant.Header = map[string]any{"kid": target + "/key"} },
		"kid, a file": func(grant *issuer.Grant) { grant.Header = map[string]any{"kid": "../../../../dev/null"} },
		"claims": func(grant *issuer.Grant) {
			grant.Claims["_claim_sources"] = map[string]any{"src": map[string]any{"endpoint": target}}
			grant.Claims["iss"] = target + "/"
		},
	} {
		grant := g.grant(editor("acme"))
		change(&grant)
		c := g.nobody()
		c.header.Set("Authorization", "Bearer "+g.issue(t, grant))
		wantStatus(t, name, c.post(t, pingBody, nil), http.StatusUnauthorized)
	}
	if visits() != 0 || len(server.seen()) != 0 {
		t.Errorf("elsewhere was asked %d times, the server %d times", visits(), len(server.seen()))
	}
}

// The server is not trusted with the gateway's legs either: where it sends its
// callers, the gateway does not go, not for questions of its own.
func TestARedirectOfTheServerIsNotFollowed(t *testing.T) {
	target, visits := elsewhere(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target+"/secret", status) }))
		g := startBefore(t, server, endpoint(allTools+"openai {\n\tsettings settings.read settings.update\n}"))
		g.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		c := g.bearer(t, editor("acme"))
		c.post(t, initializeBody, nil)
		c.tool(t, "list_decks", nil)
		c.era = modern
		c.header.Set("Mcp-Protocol-Version", modern)
		c.call(t, "server/discover", "", nil)
		c.call(t, "tools/list", "", nil)
		if len(server.seen()) < 4 || visits() != 0 {
			t.Errorf("%d: the server saw %d requests, elsewhere %d", status, len(server.seen()), visits())
		}
	}
}
