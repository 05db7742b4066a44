package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// rawExchange writes a request byte by byte, since clients of the standard
// library neither send odd paths nor odd header names.
func (g *gateway) rawExchange(t *testing.T, request string) *answer {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", g.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, response)
}

// rawConversation writes bytes and returns everything that comes back until
// the connection is closed, or silent for a while.
func (g *gateway) rawConversation(t *testing.T, request string) string {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", g.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	all, _ := io.ReadAll(conn) // an error is the end of the conversation
	return string(all)
}

// rawPost writes out a POST to a path of acme's host.
func (g *gateway) rawPost(path, token, headers, body string) string {
	if token != "" {
		headers += "Authorization: Bearer " + token + "\r\n"
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: acme.localhost:%d\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", path, g.Port, headers, len(body), body)
}

// folded is a header name as a CGI-like server reads it.
func folded(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

// identityOf collects what a server could take for identity headers, in
// whatever spelling.
func identityOf(h http.Header) map[string][]string {
	found := map[string][]string{}
	for name, values := range h {
		if strings.HasPrefix(folded(name), "x-mcp-app-") {
			found[folded(name)] = append(found[folded(name)], values...)
		}
	}
	return found
}

func TestForgedIdentityHeadersNeverArrive(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools))
	token := g.token(t, viewer("acme"))
	const body = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	want := map[string]string{
		"x-mcp-app-issuer": g.Issuer.URL, "x-mcp-app-subject": "victor@acme", "x-mcp-app-tenant": "acme", "x-mcp-app-scopes": "mcp.use",
	}
	for _, forged := range []string{
		"X-Mcp-App-Tenant: globex", "x-mcp-app-tenant: globex", "X-MCP-APP-TENANT: globex",
		"x_mcp_app_tenant: globex", "X_Mcp_App_Tenant: globex", "X-Mcp_App-Tenant: globex", "X-Mcp-App_Tenant: globex",
		"X.Mcp.App.Tenant: globex", "x.mcp_app-tenant: globex",
		"X-Mcp-App-Tenant: globex\r\nX-Mcp-App-Tenant: acme",
		"X-Mcp-App-Roles: admin", "x_mcp_app_anything: 1", "X-Mcp-App-Assertion: eyJ", "X-Mcp-App-: 1",
		"Connection: X-Mcp-App-Tenant", "Connection: close, x-mcp-app-tenant", "Connection: x-mcp-app-subject\r\nConnection: X-Mcp-App-Tenant",
		"Connection: X-Mcp-App-Tenant\r\nX-Mcp-App-Tenant: globex", "Connection:\tX-Mcp-App-Tenant\t",
	} {
		server.forget()
		wantStatus(t, forged, g.rawExchange(t, g.rawPost("/mcp", token, forged+"\r\n", body)), http.StatusOK)
		seen := server.seen()
		if len(seen) != 1 {
			t.Errorf("%q: the server saw %d requests, want 1", forged, len(seen))
			continue
		}
		got := identityOf(seen[0].header)
		for name, value := range want {
			if !slices.Equal(got[name], []string{value}) {
				t.Errorf("%q: the server reads %s as %q, want %q", forged, name, got[name], value)
			}
			delete(got, name)
		}
		if len(got) != 0 {
			t.Errorf("%q: the server also reads %v", forged, got)
		}
	}
}

// A trailer comes after everything has been decided; servers that join it with
// the headers must not find an identity in it.
func TestForgedIdentityTrailersNeverArrive(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools))
	token := g.token(t, viewer("acme"))
	const body = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for name, announced := range map[string]string{
		"announced":                      "Trailer: X-Mcp-App-Tenant\r\n",
		"announced in another spelling":  "Trailer: x_mcp_app_tenant\r\n",
		"not announced":                  "",
		"not announced behind a neutral": "Trailer: X-Checksum\r\n",
	} {
		server.forget()
		request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: acme.localhost:%d\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Authorization: Bearer %s\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Checksum: 1\r\nX-Mcp-App-Tenant: globex\r\nx_mcp_app_tenant: globex\r\n\r\n",
			g.Port, token, announced, len(body), body)
		wantStatus(t, name, g.rawExchange(t, request), http.StatusOK)
		for _, seen := range server.seen() {
			if got := identityOf(seen.trailer); len(got) != 0 {
				t.Errorf("%s: the server reads the trailer %v", name, got)
			}
		}
	}
}

func TestTheTokenStaysAtTheGateway(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		g.Workspace.ForgetCalls()
		session := g.connect(t, era, editor("acme"))
		if _, err := session.ListResources(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		toolNames(t, session)
		requests := g.Workspace.Requests()
		if len(requests) == 0 {
			t.Fatal("no request was recorded")
		}
		for _, request := range requests {
			if got := request.Header.Values("Authorization"); len(got) != 0 {
				t.Errorf("%s %s carries Authorization", request.Method, request.RPC)
			}
			if got := request.Header.Get("X-Mcp-App-Subject"); got != "erin@acme" {
				t.Errorf("%s %s carries subject %q", request.Method, request.RPC, got)
			}
		}
	})
}

// A page asks the gateway for the caller's tools before anything else was asked.
func TestTheFirstQuestionIsAlreadyAskedAsTheCaller(t *testing.T) {
	g := start(t, exampleConfig(t))
	c := g.caller(t, modern, viewer("acme"))
	g.Workspace.ForgetCalls()
	if a := c.read(t, "ui://workspace/home"); !a.message.Get("result").Exists() {
		t.Fatalf("the page was not read: %s", a)
	}
	requests := g.Workspace.Requests()
	if len(requests) != 2 {
		t.Errorf("the server saw %d requests, want tools/list and resources/read", len(requests))
	}
	for _, request := range requests {
		if got := request.Header.Get("X-Mcp-App-Subject"); got != "victor@acme" || request.Header.Get("Authorization") != "" || request.Path != "/mcp" {
			t.Errorf("%s of %s as %q, with a token: %v", request.RPC, request.Path, got, request.Header.Get("Authorization") != "")
		}
	}
}

func TestTheIdentityPrefixCanBeChosen(t *testing.T) {
	server := pong()
	g := startBefore(t, server, endpoint(allTools+"identity {\n\theaders X-Gateway-\n}"))
	g.rawExchange(t, g.rawPost("/mcp", g.token(t, viewer("acme")), "x_gateway_tenant: globex\r\n", `{"jsonrpc":"2.0","id":7,"method":"ping"}`))
	for _, seen := range server.seen() {
		if got := seen.header.Get("X-Gateway-Tenant"); got != "acme" || seen.header["X_gateway_tenant"] != nil || seen.header["x_gateway_tenant"] != nil {
			t.Errorf("the server is told %v", seen.header)
		}
	}
}
