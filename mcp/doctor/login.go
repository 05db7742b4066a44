package doctor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// wellKnown is where the document about a protected resource stands (RFC 9728
// §3.1).
const wellKnown = "/.well-known/oauth-protected-resource"

// nobody looks like a token and is none.
const nobody = "mcp-app-doctor.not.a-token"

// maxServers bounds how many authorization servers are looked at.
const maxServers = 3

// resourceDocument is what counts of protected-resource metadata.
type resourceDocument struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// document is the answer for one well-known address.
type document struct {
	address string
	status  int
	json    bool // the media type
	body    []byte
	parsed  *resourceDocument // nil unless 200 and an object
}

// offersLogin reports whether a document says where to log in.
func (d document) offersLogin() bool { return d.parsed != nil && len(d.parsed.Servers) > 0 }

// login judges how a client learns that and where to log in.
func (c *check) login() {
	c.say("login")
	first, failure := c.discoverAs(c.anonymous(), nil)
	if failure != nil {
		c.report.Skip("login", failure.Error())
		return
	}
	onPath, onRoot := c.resourceDocuments()
	c.catchAll()
	switch {
	case first.Status == http.StatusUnauthorized:
		c.report.Login = "strict"
		c.challenge(first.Header)
	case first.Status/100 == 2 && (onPath.offersLogin() || onRoot.offersLogin()):
		c.report.Login = "mixed"
	case first.Status/100 == 2 || first.Status == http.StatusBadRequest || first.Status == http.StatusNotFound || first.Status == http.StatusMethodNotAllowed:
		c.report.Login = "none"
		for _, d := range []document{onPath, onRoot} {
			if d.status/100 == 2 {
				c.add("wellknown-without-login", d.address, fmt.Sprintf("it is answered %d, though nobody has to log in", d.status))
			}
		}
		return
	default:
		return
	}
	c.badToken()
	if found := c.judgeDocuments(onPath, onRoot); found != nil {
		c.authorizationServers(found.Servers)
	}
}

// discoverAs sends server/discover, which leaves no session behind.
func (c *check) discoverAs(t discovery.Target, more http.Header) (discovery.Step, error) {
	header, body, err := discovery.Modern("server/discover", rawjson.Value("{}"))
	if err != nil {
		return discovery.Step{}, err
	}
	for name, values := range more {
		header[name] = values
	}
	step, _, err := c.engine().Probe(c.ctx, t, http.MethodPost, header, body)
	return step, err
}

// challenge judges the answer to a request without credentials.
func (c *check) challenge(header http.Header) {
	value := strings.Join(header.Values("WWW-Authenticate"), ", ")
	found, err := c.Challenge(value)
	if err != nil {
		c.add("challenge-missing", "", "the 401 has no Bearer challenge that can be read")
		return
	}
	u, err := url.Parse(found.Metadata)
	switch {
	case found.Metadata == "":
		c.add("challenge-metadata", "", "the challenge names no resource_metadata")
	case err != nil || u.Host == "":
		c.add("challenge-metadata", "", "resource_metadata is no whole address")
	default:
		if d := c.fetch(found.Metadata); d.parsed == nil {
			c.add("challenge-metadata", "", fmt.Sprintf("the document that resource_metadata names is answered %d and is none", d.status))
		}
	}
	if len(found.Scopes) == 0 {
		c.add("challenge-scope", "", "the challenge names no scope")
	}
}

// badToken sends what cannot be a good token.
func (c *check) badToken() {
	step, err := c.discoverAs(discovery.Target{URL: c.Target.URL, Token: nobody}, nil)
	switch {
	case err != nil:
	case answered(step):
		c.add("bad-token-accepted", "", "a request with a made-up token is answered")
	case step.Status == http.StatusUnauthorized:
		found, err := c.Challenge(strings.Join(step.Header.Values("WWW-Authenticate"), ", "))
		if err == nil && found.Error != "invalid_token" {
			c.add("bad-token-challenge", "", "the challenge to a bad token has no error=\"invalid_token\"")
		}
	case step.Status/100 != 2 && step.Status != http.StatusTooManyRequests && step.Status/100 != 5:
		c.add("bad-token-challenge", "", fmt.Sprintf("a bad token is answered %d, not 401", step.Status))
	}
}

// resourceDocuments fetches both forms of the document.
func (c *check) resourceDocuments() (onPath, onRoot document) {
	u, err := url.Parse(c.Target.URL)
	if err != nil {
		return onPath, onRoot
	}
	root := u.Scheme + "://" + u.Host + wellKnown
	onRoot = c.fetch(root)
	if path := strings.TrimSuffix(u.EscapedPath(), "/"); path != "" {
		return c.fetch(root + path), onRoot
	}
	return onRoot, onRoot
}

// fetch gets a document without credentials.
func (c *check) fetch(address string) document {
	d := document{address: address}
	step, body, err := c.engine().Probe(c.ctx, discovery.Target{URL: address}, http.MethodGet, http.Header{"Accept": {"application/json"}}, nil)
	if err != nil {
		return d
	}
	d.status, d.json, d.body = step.Status, mcp.IsJSON(step.ContentType()), body
	parsed := new(resourceDocument)
	if d.status == http.StatusOK && json.Unmarshal(body, parsed) == nil {
		d.parsed = parsed
	}
	return d
}

// judgeDocuments returns the document that hosts will take.
func (c *check) judgeDocuments(onPath, onRoot document) *resourceDocument {
	switch {
	case onPath.parsed == nil && onRoot.parsed == nil:
		c.add("metadata-missing", onPath.address, fmt.Sprintf("it is answered %d and holds no JSON object", onPath.status))
		return nil
	case onPath.parsed == nil:
		c.add("metadata-path", onPath.address, fmt.Sprintf("it is answered %d and holds no JSON object", onPath.status))
		onPath = onRoot
	case onRoot.parsed == nil:
		c.add("metadata-root", onRoot.address, fmt.Sprintf("it is answered %d", onRoot.status))
	case onPath.parsed.Resource != onRoot.parsed.Resource || strings.Join(onPath.parsed.Servers, " ") != strings.Join(onRoot.parsed.Servers, " "):
		c.add("metadata-differs", onRoot.address, "it says something else than the one with the endpoint's path")
	}
	found := onPath.parsed
	if !onPath.json {
		c.add("metadata-type", onPath.address, "its Content-Type is not application/json")
	}
	if found.Resource != strings.TrimSuffix(c.report.URL, "/") && found.Resource != c.report.URL {
		c.add("metadata-resource", onPath.address, fmt.Sprintf("resource is %q", c.clean(found.Resource)))
	}
	if len(found.Servers) == 0 {
		c.add("metadata-servers", onPath.address, "authorization_servers is empty")
	}
	return found
}

// catchAll asks for a well-known document that nobody has.
func (c *check) catchAll() {
	u, err := url.Parse(c.Target.URL)
	if err != nil {
		return
	}
	address := u.Scheme + "://" + u.Host + "/.well-known/oauth-mcp-app-doctor"
	switch d := c.fetch(address); {
	case d.status/100 != 2:
	case len(d.body) == 0: // what Caddy answers where no handler is
		c.add("wellknown-empty", "", fmt.Sprintf("a well-known address that does not exist is answered %d with nothing", d.status))
	default:
		c.add("wellknown-catch-all", "", "a well-known address that does not exist is answered "+fmt.Sprint(d.status))
	}
}
