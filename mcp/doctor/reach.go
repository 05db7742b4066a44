package doctor

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

// address judges what the address itself says.
func (c *check) address() {
	u, err := url.Parse(c.Target.URL)
	if err != nil {
		return // checked before
	}
	if local(u.Hostname()) {
		c.add("address-local", "", u.Hostname()+" is an address of this machine or network")
	} else if u.Scheme != "https" {
		c.add("address-http", "", "the address begins with http://")
	}
}

// local reports whether a host is this machine or in a private network.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return strings.HasSuffix("."+host, ".localhost")
	}
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

// classes gives the codes of failures that end a check.
var classes = map[discovery.Class]string{
	discovery.Unreachable: "unreachable",
	discovery.Untrusted:   "tls-untrusted",
	discovery.Timeout:     "silent",
	discovery.RateLimited: "rate-limited",
	discovery.Redirect:    "redirected",
	discovery.Unavailable: "unavailable",
	discovery.ServerFault: "server-error",
	discovery.NotMCP:      "not-mcp",
	discovery.Protocol:    "protocol-broken",
	discovery.Malformed:   "catalog-malformed",
	discovery.TooLarge:    "catalog-too-large",
}

// reach asks what the server offers and reports whether MCP is spoken there.
func (c *check) reach() bool {
	offers, err := c.engine().Discover(c.ctx, c.Target)
	c.offers = offers
	c.tell()
	failure := offers.Failure
	if err == nil || failure == nil {
		return true
	}
	given := c.Target.Token != "" || len(c.Target.Header) > 0
	switch {
	case failure.Class == discovery.Canceled:
		c.report.Skip("everything", "given up")
		return false
	case failure.Class == discovery.Authentication && given:
		c.add("token-refused", "", failure.Detail)
	case failure.Class == discovery.Forbidden && given:
		c.add("token-forbidden", "", failure.Detail)
	case failure.Class == discovery.Forbidden:
		c.add("forbidden", "", failure.Detail)
	case failure.Class == discovery.Authentication:
		c.report.Skip("tools, pages, eras and streams", "the server wants a login: give a token")
	default:
		detail := failure.Detail
		if failure.During != "" {
			detail = failure.During + ": " + detail
		}
		c.add(classes[failure.Class], "", detail)
		return offers.Handshake.Exists()
	}
	return true
}

// tell fills in what is known of the server.
func (c *check) tell() {
	offers := c.offers
	if !offers.Handshake.Exists() {
		return
	}
	name, version := offers.Server()
	c.report.Server = c.clean(name + " " + version)
	c.report.Era, c.report.Protocol = offers.Era.String(), c.clean(offers.Version)
	c.report.Tools = len(offers.Tools)
}

// handshakes judges the answers that a conversation begins with, in both eras.
func (c *check) handshakes() {
	c.say("eras")
	if not := c.offers.NotModern; not != nil && unclean(not) {
		c.add("discover-broken", "", fmt.Sprintf("server/discover: %s", not.Detail))
	}
	for _, step := range c.offers.Steps {
		if step.Cookie {
			c.add("cookie", "", "an answer sets a cookie")
		}
		if step.Stream && (step.Compressed || step.Header.Get("Content-Encoding") != "") {
			c.add("stream-compressed", "", "an event stream is compressed")
		}
	}
	if c.offers.Era == mcp.Modern {
		c.modernShape()
		older, _ := (&discovery.Engine{
			Transport: c.Transport, Timeout: c.Timeout, Eras: []mcp.Era{mcp.Legacy}, ToolsOnly: true, Progress: c.Progress,
		}).Discover(c.ctx, c.Target)
		c.older = older
		c.compareEras()
	} else {
		c.older = c.offers
	}
	if c.older.Handshake.Exists() {
		c.legacyShape()
	}
	if text, _ := c.offers.Handshake.Get("instructions").Text(); len([]rune(text)) > 512 {
		c.add("instructions-long", "", fmt.Sprintf("the instructions have %d characters", len([]rune(text))))
	}
}

// unclean reports whether server/discover was not answered as an older server
// may: with a JSON-RPC error, or 400, 404 or 405.
func unclean(not *discovery.Error) bool {
	switch not.Class {
	case discovery.Timeout, discovery.Unreachable, discovery.Untrusted:
		return true
	case discovery.Protocol:
		return not.Status == 0 && not.Code == 0 && not.Detail != "the server offers older versions only"
	case discovery.NotMCP, discovery.ServerFault:
		return not.Status < 400 && not.Code == 0 || not.Status >= 500
	default:
		return false
	}
}

func (c *check) modernShape() {
	result := c.offers.Handshake
	bad := func(detail string) { c.add("discover-shape", "", detail) }
	switch {
	case len(c.offers.Versions) == 0:
		bad("there is no supportedVersions")
	case !result.Get("capabilities").Exists():
		bad("there is no capabilities")
	case !result.Get("_meta", "io.modelcontextprotocol/serverInfo").Exists() && result.Get("serverInfo").Exists():
		bad("serverInfo stands beside _meta and not in it")
	}
	if kind, _ := result.Get("resultType").Text(); kind != "complete" {
		bad("resultType is not complete")
	}
	if !result.Get("ttlMs").Exists() || !result.Get("cacheScope").Exists() {
		c.add("cache-hints-missing", "server/discover", "ttlMs or cacheScope is missing")
	}
	if !slices.Contains(c.offers.Versions, mcp.FirstModernVersion) {
		bad("supportedVersions does not hold " + mcp.FirstModernVersion)
	}
	for _, key := range []string{"openai/settings", "openai/mentions", "io.modelcontextprotocol/skills"} {
		if result.Get("capabilities", "experimental", key).Exists() && !result.Get("capabilities", "extensions", key).Exists() {
			c.add("capability-place", key, "it stands under experimental")
		}
	}
}

func (c *check) legacyShape() {
	for _, member := range []string{"protocolVersion", "capabilities", "serverInfo"} {
		if !c.older.Handshake.Get(member).Exists() {
			c.add("initialize-shape", "", "there is no "+member)
		}
	}
}

// compareEras finds tools that clients of one era get only.
func (c *check) compareEras() {
	if failure := c.older.Failure; failure != nil {
		c.add("initialize-refused", "", failure.Detail)
		return
	}
	names := func(r *discovery.Report) map[string]bool {
		set := make(map[string]bool)
		for _, tool := range r.Tools {
			name, _ := tool.Get("name").Text()
			set[name] = true
		}
		return set
	}
	modern, legacy := names(c.offers), names(c.older)
	var differ []string
	for name := range modern {
		if !legacy[name] {
			differ = append(differ, name)
		}
	}
	for name := range legacy {
		if !modern[name] {
			differ = append(differ, name)
		}
	}
	slices.Sort(differ)
	for _, name := range differ[:min(len(differ), 5)] {
		c.add("eras-differ", c.clean(name), "only one era lists it")
	}
}
