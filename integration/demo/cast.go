package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/stack"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// person is somebody who uses the plugin through ChatGPT.
type person struct {
	name, subject, tenant string
	scopes                []string
}

func editor(tenant string) person {
	return person{"an editor of " + tenant, "erin@" + tenant, tenant, []string{"mcp.use", "decks.write", "settings.write"}}
}

func viewer(tenant string) person {
	return person{"a viewer of " + tenant, "victor@" + tenant, tenant, []string{"mcp.use"}}
}

// token is what the issuer would give this person's ChatGPT after a login. Its
// audience is the plugin of the person's own company.
func (p person) token(s *stack.Stack) (string, error) {
	return s.Issuer.Issue(issuer.Grant{
		Subject: p.subject, Audience: []string{s.URL(p.tenant)}, Scopes: p.scopes,
		Claims: map[string]any{"org_id": p.tenant},
	})
}

// cast sends requests as the persons of the play.
type cast struct {
	stack  *stack.Stack
	client *http.Client
}

func newCast(s *stack.Stack) *cast {
	return &cast{s, &http.Client{Transport: s.Transport()}}
}

// reply is an answer of the gateway.
type reply struct {
	status int
	header http.Header
	body   []byte
	json   rawjson.Value // the message in the body or its first event, nil if there is none
}

// call sends a modern JSON-RPC request (2026-07-28, the protocol ChatGPT tries
// first) to a company's endpoint, as nobody if who is nil.
func (c *cast) call(ctx context.Context, host string, who *person, method, name string, params map[string]any, extra http.Header) (*reply, error) {
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    mcp.FirstModernVersion,
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "demo", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.stack.URL(host), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for header, values := range extra {
		r.Header[header] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(mcp.HeaderVersion, mcp.FirstModernVersion)
	r.Header.Set(mcp.HeaderMethod, method)
	if name != "" {
		r.Header.Set(mcp.HeaderName, name)
	}
	if who != nil {
		bearer, err := who.token(c.stack)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	return c.do(r)
}

// tool calls a tool.
func (c *cast) tool(ctx context.Context, host string, who *person, name string, arguments map[string]any) (*reply, error) {
	return c.call(ctx, host, who, "tools/call", name, map[string]any{"name": name, "arguments": arguments}, nil)
}

func (c *cast) do(r *http.Request) (*reply, error) {
	response, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	message := body
	if mcp.IsEventStream(response.Header.Get("Content-Type")) {
		for line := range strings.Lines(string(body)) {
			if data, ok := strings.CutPrefix(line, "data:"); ok && strings.TrimSpace(data) != "" {
				message = []byte(strings.TrimSpace(data))
			}
		}
	}
	parsed, _ := rawjson.ParseLenient(message, mcp.DefaultDepth) // nil for other bodies
	return &reply{response.StatusCode, response.Header, body, parsed}, nil
}

// names lists the names in a tools/list answer.
func (r *reply) names() []string {
	var names []string
	for tool := range r.json.Get("result", "tools").Elements() {
		name, _ := tool.Get("name").Text()
		names = append(names, name)
	}
	return names
}

// find returns the tool called name in a tools/list answer.
func (r *reply) find(name string) rawjson.Value {
	for tool := range r.json.Get("result", "tools").Elements() {
		if found, _ := tool.Get("name").Text(); found == name {
			return tool
		}
	}
	return nil
}

// asTenant calls list_decks on who's host with a token that is right in
// everything but its tenant.
func (c *cast) asTenant(ctx context.Context, who person, tenant string) (*reply, error) {
	bearer, err := c.stack.Issuer.Issue(issuer.Grant{
		Subject: who.subject, Audience: []string{c.stack.URL(who.tenant)}, Scopes: who.scopes,
		Claims: map[string]any{"org_id": tenant},
	})
	if err != nil {
		return nil, err
	}
	return c.call(ctx, who.tenant, nil, "tools/call", "list_decks", map[string]any{"name": "list_decks"},
		http.Header{"Authorization": {"Bearer " + bearer}})
}

// initialize sends the first request of a legacy client.
func (c *cast) initialize(ctx context.Context, who person) (*reply, error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.stack.URL(who.tenant), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	bearer, err := who.token(c.stack)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+bearer)
	return c.do(r)
}
