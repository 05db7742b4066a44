package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
)

// registrar is a gateway whose admin API can be asked.
type registrar struct {
	*gateway
	admin     *http.Client
	accessLog string
	caddyfile []byte
}

// startRegistrar runs a second endpoint beside the first, with the access log of
// the README.
func startRegistrar(t *testing.T, policy string) *registrar {
	t.Helper()
	return startRegistrarBefore(t, nil, policy)
}

// startRegistrarBefore is startRegistrar before a handler that plays the server,
// nil for the sample server.
func startRegistrarBefore(t *testing.T, upstream http.Handler, policy string) *registrar {
	t.Helper()
	dir, err := os.MkdirTemp("", "x") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, accessLog := filepath.Join(dir, "a.sock"), filepath.Join(dir, "access.log")
	config := strings.Replace(string(site(endpoint(policy)+strings.ReplaceAll(endpoint(policy), "/mcp", "/other"))), "admin off", "admin unix/"+socket, 1)
	config = strings.Replace(config, "bind 127.0.0.1\n", "bind 127.0.0.1\nlog {\noutput file "+accessLog+`
format filter {
	request>uri query {
		delete registration
	}
	request>headers>X-Mcp-App-Registration delete
}
}
`, 1)
	r := &registrar{gateway: start(t, stackWith([]byte(config), upstream)), accessLog: accessLog, caddyfile: []byte(config)}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	r.admin = &http.Client{Transport: retrying{transport}} // a reload replaces the listener
	return r
}

type madeRegistration struct{ ID, URL, Handle string }

func (r *registrar) ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://admin/mcp_app/registrations"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := r.admin.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (r *registrar) register(t *testing.T, more string, tools ...string) madeRegistration {
	t.Helper()
	status, text := r.ask(t, http.MethodPost, "", fmt.Sprintf(`{"endpoint":"/mcp","tools":%s%s}`, marshal(t, tools), more))
	var made madeRegistration
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	return made
}

// under is a caller that names a registration.
func (r *registrar) under(t *testing.T, era string, p person, id string) *caller {
	t.Helper()
	c := &caller{r.client, r.URL(p.tenant) + "?registration=" + id, era, http.Header{"Authorization": {"Bearer " + r.token(t, p)}}}
	c.open(t)
	return c
}

const someTools = "policy {\n\ttool *\n\ttool create_deck {\n\t\tscopes decks.write\n\t}\n\tresource *\n\tprompt *\n\ttemplate *\n}\n"

func TestARegistrationIsTheIntersectionWithTheCallersView(t *testing.T) {
	r := startRegistrar(t, someTools+"openai {\nsettings settings.read settings.update\n}\n")
	made := r.register(t, "", "list_decks", "create_deck", "workspace.home", "no_such_tool")
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			c := r.under(t, era, viewer("acme"), made.ID)
			// Twice: a list that is remembered must not be another caller's.
			for range 2 {
				if got := c.call(t, "tools/list", "", nil).names("tools", "name"); !slices.Equal(got, []string{"list_decks", "workspace.home"}) {
					t.Errorf("tools %q", got)
				}
			}
			whole := r.caller(t, era, viewer("acme"))
			if got := whole.call(t, "tools/list", "", nil).names("tools", "name"); len(got) < 5 {
				t.Errorf("without the registration: %q", got)
			}
			if got := r.under(t, era, editor("acme"), made.ID).call(t, "tools/list", "", nil).names("tools", "name"); !slices.Contains(got, "create_deck") || len(got) != 3 {
				t.Errorf("a caller of more scopes sees %q", got)
			}
			sameAsUnknown(t, c.tool(t, "settings.read", nil), c.tool(t, "no.such_tool12", nil), "settings.read", "no.such_tool12")
			if got := c.read(t, "ui://workspace/home"); !got.message.Get("result").Exists() {
				t.Errorf("the page of a registered tool: %s", got)
			}
			if got := c.read(t, "ui://workspace/tray"); got.message.Get("result").Exists() {
				t.Errorf("the page of another tool: %s", got)
			}
			if got := c.call(t, "resources/list", "", nil).names("resources", "uri"); slices.Contains(got, "ui://workspace/tray") {
				t.Errorf("resources %q", got)
			}
			if got := c.call(t, "prompts/list", "", nil).names("prompts", "name"); len(got) != 0 {
				t.Errorf("prompts %q", got)
			}
			if got := c.handshake(t); bytes.Contains(got.body, []byte("openai/settings")) {
				t.Errorf("settings are advertised: %s", got)
			}
			if era == modern {
				return
			}
			// A session belongs to the registration it was begun under.
			session := c.header.Get("Mcp-Session-Id")
			whole.header.Set("Mcp-Session-Id", session)
			wantStatus(t, "the session without the registration", whole.call(t, "tools/list", "", nil), http.StatusNotFound)
		})
	}
}

func TestCallsUnderARegistrationRunOut(t *testing.T) {
	r := startRegistrar(t, someTools)
	made := r.register(t, `,"max_calls":3`, "list_decks")
	legacyCaller, modernCaller := r.under(t, legacy, viewer("acme"), made.ID), r.under(t, modern, viewer("acme"), made.ID)
	// What does not reach the tool is not counted.
	modernCaller.tool(t, "settings.read", nil)
	modernCaller.call(t, "tools/list", "", nil)
	for i, c := range []*caller{legacyCaller, modernCaller, legacyCaller} {
		wantStatus(t, fmt.Sprint("call ", i+1), c.tool(t, "list_decks", nil), http.StatusOK)
	}
	for _, c := range []*caller{legacyCaller, modernCaller} {
		wantStatus(t, c.era+", a call too many", c.tool(t, "list_decks", nil), http.StatusNotFound)
		wantStatus(t, c.era+", a list", c.call(t, "tools/list", "", nil), http.StatusNotFound)
	}
	if status, text := r.ask(t, http.MethodGet, "/"+made.Handle, ""); status != http.StatusOK || !strings.Contains(text, `"calls":3`) || !strings.Contains(text, registration.Completed) {
		t.Errorf("progress: %d %s", status, text)
	}
	if status, text := r.ask(t, http.MethodGet, "/"+made.Handle+"/events", ""); status != http.StatusOK || !strings.Contains(text, "event: end\n") {
		t.Errorf("events: %d %s", status, text)
	}
}

func TestAttacksOnRegistrations(t *testing.T) {
	r := startRegistrar(t, someTools)
	erin := editor("acme")
	bound := r.register(t, fmt.Sprintf(`,"principal":{"issuer":%q,"subject":%q,"tenant":"acme"}`, r.Issuer.URL, erin.subject), "list_decks")
	made := r.register(t, "", "list_decks")
	c := r.caller(t, modern, erin)
	list := func(query string, header http.Header) *answer {
		body, all := c.message(t, "tools/list", "", nil)
		for name, values := range header {
			all[name] = values
		}
		return c.send(t, http.MethodPost, r.URL("acme")+query, body, all)
	}
	wantStatus(t, "the principal", list("?registration="+bound.ID, nil), http.StatusOK)
	wantStatus(t, "the header", list("", http.Header{"X-Mcp-App-Registration": {made.ID}}), http.StatusOK)
	wantStatus(t, "a guessed id", list("?registration="+registration.NewID(), nil), http.StatusNotFound)
	wantStatus(t, "another case", list("?registration="+strings.ToUpper(made.ID), nil), http.StatusBadRequest)
	wantStatus(t, "another encoding", list("?registration=%72"+made.ID[1:], nil), http.StatusBadRequest)
	wantStatus(t, "a misspelt name", list("?Registration="+made.ID, nil), http.StatusBadRequest)
	wantStatus(t, "a fragment", list("?registration="+made.ID+"%23", nil), http.StatusBadRequest)
	wantStatus(t, "twice", list("?registration="+made.ID+"&registration="+made.ID, nil), http.StatusBadRequest)
	wantStatus(t, "two that differ", list("?registration="+made.ID, http.Header{"X-Mcp-App-Registration": {bound.ID}}), http.StatusBadRequest)
	wantStatus(t, "no token", list("?registration="+made.ID, http.Header{"Authorization": nil}), http.StatusUnauthorized)
	wantStatus(t, "somebody else", list("?registration="+bound.ID, http.Header{"Authorization": {"Bearer " + r.token(t, viewer("acme"))}}), http.StatusNotFound)
	body, header := c.message(t, "tools/list", "", nil)
	other := r.issue(t, func() (g issuer.Grant) {
		g = r.grant(erin)
		g.Audience = append(g.Audience, strings.Replace(r.URL("acme"), "/mcp", "/other", 1))
		return g
	}())
	header.Set("Authorization", "Bearer "+other)
	wantStatus(t, "another endpoint", c.send(t, http.MethodPost, strings.Replace(r.URL("acme"), "/mcp", "/other", 1)+"?registration="+made.ID, body, header), http.StatusNotFound)

	session := r.under(t, legacy, erin, made.ID)
	if status, text := r.ask(t, http.MethodDelete, "/"+made.Handle, ""); status != http.StatusNoContent {
		t.Fatalf("DELETE: %d %s", status, text)
	}
	wantStatus(t, "after DELETE", list("?registration="+made.ID, nil), http.StatusNotFound)
	wantStatus(t, "a live session after DELETE", session.call(t, "tools/list", "", nil), http.StatusNotFound)

	logged, err := os.ReadFile(r.accessLog)
	if err != nil || len(logged) == 0 {
		t.Fatalf("no access log: %v", err)
	}
	for _, id := range []string{made.ID, bound.ID} {
		for name, text := range map[string]string{"the access log": string(logged), "the log": r.log(t)} {
			for line := range strings.Lines(text) {
				// A misspelt parameter is not known to the filter.
				if strings.Contains(line, id) && !strings.Contains(line, "Registration="+id) {
					t.Errorf("%s holds an id: %s", name, line)
				}
			}
		}
	}
}
