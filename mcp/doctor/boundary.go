package doctor

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

// Origins that are asked with: one that no endpoint can mean, and the host's.
const (
	foreignOrigin = "https://mcp-app-doctor.invalid"
	hostOrigin    = "https://chatgpt.com"
)

// boundary judges what pages in a browser may do.
func (c *check) boundary() {
	c.say("origins")
	plain, err := c.discoverAs(c.Target, nil)
	if err != nil {
		return
	}
	c.speaks = answered(plain)
	foreign, err := c.discoverAs(c.Target, http.Header{"Origin": {foreignOrigin}})
	if err == nil && answered(foreign) {
		c.add("origin-unchecked", "", "a request of "+foreignOrigin+" is answered")
	}
	for _, origin := range []string{foreignOrigin, hostOrigin} {
		promised, ok := c.preflight(origin)
		if !ok {
			continue
		}
		kept, err := c.discoverAs(c.Target, http.Header{"Origin": {origin}})
		if err != nil {
			continue
		}
		switch {
		case promised && kept.Status == http.StatusForbidden && plain.Status != http.StatusForbidden:
			c.add("preflight-differs", origin, "the preflight allows what the request is refused")
		case !promised && kept.Header.Get("Access-Control-Allow-Origin") != "" && kept.Status/100 == 2:
			c.add("preflight-differs", origin, "the request is answered for pages, and the preflight refused")
		}
		if kept.Header.Get("Access-Control-Allow-Origin") != "" && kept.Status/100 == 2 {
			exposed := strings.ToLower(strings.Join(kept.Header.Values("Access-Control-Expose-Headers"), ","))
			if exposed != "*" && (!strings.Contains(exposed, "mcp-session-id") || !strings.Contains(exposed, "www-authenticate")) {
				c.add("cors-expose", origin, "Access-Control-Expose-Headers lacks Mcp-Session-Id or WWW-Authenticate")
			}
		}
	}
}

// answered reports whether an answer may be one of MCP, and not a web page.
func answered(step discovery.Step) bool {
	return step.Status/100 == 2 && (step.Stream || mcp.IsJSON(step.ContentType()))
}

// preflight reports whether a page of an origin would be let through.
func (c *check) preflight(origin string) (promised, ok bool) {
	step, _, err := c.engine().Probe(c.ctx, c.anonymous(), http.MethodOptions, http.Header{
		"Origin":                         {origin},
		"Access-Control-Request-Method":  {http.MethodPost},
		"Access-Control-Request-Headers": {"authorization, content-type, mcp-protocol-version"},
	}, nil)
	if err != nil {
		return false, false
	}
	allowed := step.Header.Get("Access-Control-Allow-Origin")
	return step.Status/100 == 2 && (allowed == origin || allowed == "*"), true
}

// paths judges what answers beside the endpoint and to other methods.
func (c *check) paths() {
	c.say("paths")
	c.get()
	u, err := url.Parse(c.Target.URL)
	if err != nil {
		return
	}
	if path := strings.TrimSuffix(u.Path, "/"); path != "" && !strings.HasSuffix(u.Path, "/") {
		c.trailingSlash(u)
		c.oldTransport(u, path)
	} else {
		c.oldTransport(u, "")
	}
}

// get asks for a stream outside of any session.
func (c *check) get() {
	engine := c.engine()
	engine.Timeout = c.streamWait()
	step, body, err := engine.Probe(c.ctx, c.Target, http.MethodGet, http.Header{"Accept": {"text/event-stream"}}, nil)
	if err != nil {
		return // an open stream without events is allowed
	}
	switch {
	case step.Status/100 == 2 && !step.Stream:
		c.add("get-no-stream", "", fmt.Sprintf("GET is answered %d with %s", step.Status, c.clean(step.ContentType())))
	case step.Status/100 == 3, step.Status >= 500:
		c.add("get-no-stream", "", fmt.Sprintf("GET is answered %d", step.Status))
	case step.Status == http.StatusNotFound && !mcp.IsJSON(step.ContentType()) && isPage(body):
		c.add("get-no-stream", "", "GET is answered 404 with a web page")
	}
}

func isPage(body []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(body))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

// trailingSlash asks under the address that users type as often.
func (c *check) trailingSlash(u *url.URL) {
	slashed := *u
	slashed.Path, slashed.RawPath = u.Path+"/", ""
	step, err := c.discoverAs(discovery.Target{URL: slashed.String(), Token: c.Target.Token, Header: c.Target.Header}, nil)
	switch {
	case err != nil:
	case step.Status/100 == 3:
		c.add("trailing-slash", "", fmt.Sprintf("with a slash at the end it is answered %d", step.Status))
	case step.Status/100 == 2 && !answered(step) && c.speaks:
		c.add("trailing-slash", "", "with a slash at the end something else answers: "+c.clean(step.ContentType()))
	}
}

// oldTransport looks for HTTP+SSE (MCP 2024-11-05), which another endpoint of
// the same server may still speak, past everything that guards this one.
func (c *check) oldTransport(u *url.URL, path string) {
	engine := c.engine()
	engine.Timeout = c.streamWait()
	seen := make(map[string]bool)
	for _, base := range []string{"", path} {
		for _, name := range []string{"/sse", "/messages"} {
			other := url.URL{Scheme: u.Scheme, Host: u.Host, Path: base + name}
			if seen[other.String()] || other.Path == u.Path {
				continue
			}
			seen[other.String()] = true
			target := discovery.Target{URL: other.String()}
			if name == "/sse" {
				step, _, err := engine.Probe(c.ctx, target, http.MethodGet, http.Header{"Accept": {"text/event-stream"}}, nil)
				if step.Stream && step.Status == http.StatusOK || err == nil && step.Stream {
					c.add("old-transport", other.Path, "an event stream opens there without a login")
				}
				continue
			}
			step, body, err := engine.Probe(c.ctx, target, http.MethodPost,
				http.Header{"Content-Type": {"application/json"}}, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			if err == nil && (step.Status == http.StatusAccepted || step.Status/100 == 2 && bytes.Contains(body, []byte(`"jsonrpc"`)) ||
				step.Status == http.StatusBadRequest && !isPage(body)) {
				c.add("old-transport", other.Path, fmt.Sprintf("a message is answered %d there without a login", step.Status))
			}
		}
	}
}
