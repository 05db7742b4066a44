//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/freeport"
)

// path is one way to the server.
type path struct {
	name    string
	addr    string
	admin   string   // of Caddy's
	config  string   // file that a reload loads
	proxy   *process // nil for the direct path
	session string   // for paths that know the legacy era only
}

// The names of paths.
const (
	direct      = "direct"
	stock       = "stock Caddy"
	ours        = "mcp_app"
	oauth2Proxy = "oauth2-proxy"
	vmcp        = "vmcp"
)

// site is what the configurations of all peers are filled with.
type site struct {
	Addr, Admin, Server, Issuer, Audience, Dir string
	Rules                                      []int
}

const stockConfig = `{
	admin {{.Admin}}
	auto_https off
	persist_config off
	log {
		level ERROR
	}
}
http://{{.Addr}} {
	bind 127.0.0.1
	reverse_proxy {{.Server}}
}
`

const oursConfig = `{
	admin {{.Admin}}
	auto_https off
	persist_config off
	log {
		level ERROR
	}
}
http://{{.Addr}} {
	bind 127.0.0.1
	mcp_app /mcp {{.Server}} {
		resource {{.Audience}}
		auth {
			issuer {{.Issuer}} {
				jwks_url {{.Issuer}}/keys
				algorithms RS256 ES256
			}
			scopes mcp.use
		}
		policy {
			default deny
			tool visible.*
			tool settings.*
			resource ui://*
			{{- range .Rules}}
			tool unused.{{.}}.* {
				scopes unused.{{.}}
			}
			{{- end}}
		}
		openai {
			entrypoint visible.tool0004 global
			settings settings.read settings.update
		}
		limits {
			request_body 8MiB
			tools 20000
		}
	}
}
`

// fill writes a configuration into the run's folder.
func (s site) fill(name, text string) (string, error) {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return "", fmt.Errorf("configuration of %s: %w", name, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, s); err != nil {
		return "", fmt.Errorf("configuration of %s: %w", name, err)
	}
	file := filepath.Join(s.Dir, strings.ReplaceAll(name, " ", "-")+".conf")
	return file, os.WriteFile(file, b.Bytes(), 0o600)
}

// startCaddy starts a Caddy of either kind.
func startCaddy(ctx context.Context, name, binary, config string, s site) (*path, error) {
	var err error
	for _, addr := range []*string{&s.Addr, &s.Admin} {
		if *addr, err = freeport.Address(); err != nil {
			return nil, err
		}
	}
	file, err := s.fill(name, config)
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, s.Dir, strings.ReplaceAll(name, " ", "-"), proxyCore, binary, "run", "--config", file, "--adapter", "caddyfile")
	if err != nil {
		return nil, err
	}
	return &path{name: name, addr: s.Addr, admin: s.Admin, config: file, proxy: p}, waitFor(ctx, p, s.Addr)
}

// startOAuth2Proxy starts the peer that checks tokens alone.
func startOAuth2Proxy(ctx context.Context, binary string, s site) (*path, error) {
	addr, err := freeport.Address()
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, s.Dir, oauth2Proxy, proxyCore, binary,
		"--http-address="+addr, "--upstream=http://"+s.Server, "--provider=oidc", "--oidc-issuer-url="+s.Issuer,
		"--skip-oidc-discovery=true", "--oidc-jwks-url="+s.Issuer+"/keys", "--login-url="+s.Issuer+"/authorize", "--redeem-url="+s.Issuer+"/token",
		"--client-id="+s.Audience, "--client-secret=unused", "--cookie-secret=0123456789abcdef0123456789abcdef", "--email-domain=*",
		"--skip-jwt-bearer-tokens=true", "--bearer-token-login-fallback=false", "--oidc-email-claim=sub", "--insecure-oidc-allow-unverified-email=true",
		"--request-logging=false", "--auth-logging=false", "--standard-logging=false", "--pass-basic-auth=false", "--pass-user-headers=false")
	if err != nil {
		return nil, err
	}
	return &path{name: oauth2Proxy, addr: addr, proxy: p}, waitFor(ctx, p, addr)
}

const vmcpConfig = `name: bench
groupRef: bench
backends:
  - name: up
    url: http://{{.Server}}/mcp
    transport: streamable-http
incomingAuth:
  type: oidc
  oidc:
    issuer: {{.Issuer}}
    clientId: {{.Audience}}
    audience: {{.Audience}}
    resource: {{.Audience}}
    jwksUrl: {{.Issuer}}/keys
    jwksAllowPrivateIp: true
    protectedResourceAllowPrivateIp: true
    insecureAllowHttp: true
  authz:
    type: cedar
    policies:
      - 'permit(principal, action == Action::"call_tool", resource == Tool::"visible.echo");'
outgoingAuth:
  source: inline
  default:
    type: unauthenticated
aggregation:
  conflictResolution: priority
  conflictResolutionConfig:
    priorityOrder: [up]
  tools:
    - workload: up
      filter: ["visible.echo"]
`

// startVMCP starts the peer that filters. It is a session aggregator that
// re-encodes answers, and knows the legacy era only.
func startVMCP(ctx context.Context, binary string, s site, token string) (*path, error) {
	addr, err := freeport.Address()
	if err != nil {
		return nil, err
	}
	file, err := s.fill(vmcp, vmcpConfig)
	if err != nil {
		return nil, err
	}
	host, port, _ := strings.Cut(addr, ":")
	p, err := start(ctx, s.Dir, vmcp, proxyCore, binary, "serve", "--config", file, "--host", host, "--port", port)
	if err != nil {
		return nil, err
	}
	if err := waitFor(ctx, p, addr); err != nil {
		return nil, err
	}
	made := &path{name: vmcp, addr: addr, proxy: p}
	made.session, err = made.beginSession(token)
	return made, err
}

// beginSession does the handshake of the legacy era.
func (p *path) beginSession(token string) (string, error) {
	c, err := dial(p.addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	m := message{
		host: p.addr, session: noSession, method: "initialize", token: func(uint64) string { return token },
		params: `"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}`,
	}
	var body bytes.Buffer
	head, err := c.roundTrip(m.append(nil, 0), &body)
	if err != nil {
		return "", fmt.Errorf("initialize: %w", err)
	}
	if head.status != 200 || len(head.session) == 0 {
		return "", fmt.Errorf("initialize: status %d: %s", head.status, body.Bytes())
	}
	return string(head.session), nil
}
