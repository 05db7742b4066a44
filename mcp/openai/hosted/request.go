package hosted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

// input asks for nothing; the model answers while the tools are listed.
const input = "Reply with the single word: ok"

// maxOutputTokens ends what the model has to say about it.
const maxOutputTokens = 32

// request is the whole body. Nothing else is ever sent: in particular no earlier
// response, since OpenAI would use the list it read then.
type request struct {
	Model           string    `json:"model"`
	Input           string    `json:"input"`
	Tools           []mcpTool `json:"tools"`
	ToolChoice      string    `json:"tool_choice"`
	Store           bool      `json:"store"`
	Stream          bool      `json:"stream"`
	MaxOutputTokens int       `json:"max_output_tokens"`
}

type mcpTool struct {
	Type            string            `json:"type"`
	ServerLabel     string            `json:"server_label"`
	ServerURL       string            `json:"server_url,omitempty"`
	TunnelID        string            `json:"tunnel_id,omitempty"`
	Authorization   string            `json:"authorization,omitempty"`
	Headers         map[string]string `json:"headers,omitempty"`
	AllowedTools    []string          `json:"allowed_tools,omitempty"`
	RequireApproval string            `json:"require_approval"`
}

var tunnelID = regexp.MustCompile(`^tunnel_[a-z0-9]{32}$`)

// Check refuses what OpenAI could not be asked, before anything is sent.
func (c Check) Check() error {
	switch {
	case (c.ServerURL == "") == (c.TunnelID == ""):
		return bad("give the server's address or --tunnel-id, one of them")
	case c.TunnelID != "" && !tunnelID.MatchString(c.TunnelID):
		return bad("a tunnel id is tunnel_ and 32 lower-case letters or digits")
	case c.Key == "":
		return bad("there is no OpenAI API key")
	case !httpguts.ValidHeaderFieldValue(c.Key):
		return bad("the OpenAI API key holds control characters")
	}
	if c.ServerURL != "" {
		if err := checkPublic(c.ServerURL); err != nil {
			return err
		}
	}
	if err := discovery.CheckURL(c.baseURL()); err != nil {
		return err
	}
	if base, _ := url.Parse(c.baseURL()); base.Scheme != "https" && !isLoopback(base.Hostname()) {
		return bad("the base URL must begin with https://, since the API key goes there")
	}
	return c.target().Check()
}

// target is the server with its credentials.
func (c Check) target() discovery.Target {
	// The address of a tunnel is OpenAI's affair.
	return discovery.Target{URL: cmp.Or(c.ServerURL, DefaultBaseURL), Token: c.Token, Header: c.Header}
}

func (c Check) baseURL() string { return cmp.Or(c.BaseURL, DefaultBaseURL) }

func (c Check) endpoint() string { return strings.TrimSuffix(c.baseURL(), "/") + "/responses" }

func (c Check) label() string { return cmp.Or(c.Label, DefaultLabel) }

// body builds the request.
func (c Check) body() ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	tool := mcpTool{
		Type: "mcp", ServerLabel: c.label(), ServerURL: c.ServerURL, TunnelID: c.TunnelID,
		AllowedTools: c.AllowedTools, RequireApproval: "always",
	}
	if len(c.Header) > 0 {
		tool.Headers = make(map[string]string, len(c.Header)+1)
		for name, values := range c.Header {
			tool.Headers[name] = values[0]
		}
	}
	switch {
	case c.Token == "":
	case c.HeaderOnly:
		if tool.Headers == nil {
			tool.Headers = make(map[string]string, 1)
		}
		tool.Headers["Authorization"] = "Bearer " + c.Token
	default:
		tool.Authorization = c.Token
	}
	body, err := json.Marshal(request{
		Model: cmp.Or(c.Model, DefaultModel), Input: input, Tools: []mcpTool{tool}, ToolChoice: "none",
		Store: false, Stream: true, MaxOutputTokens: maxOutputTokens,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return body, nil
}

// checkPublic refuses addresses that OpenAI can never reach; it would answer
// with an error that does not say so.
func checkPublic(address string) error {
	if err := discovery.CheckURL(address); err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return bad("the address cannot be read")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	local := !strings.Contains(host, ".")
	for _, suffix := range []string{".localhost", ".local", ".internal", ".home.arpa", ".lan", ".test", ".invalid"} {
		local = local || strings.HasSuffix(host, suffix)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		local = !ip.IsGlobalUnicast() || ip.IsPrivate()
	}
	switch {
	case u.Scheme != "https":
		return bad("OpenAI connects to https:// addresses only; use a tunnel (--tunnel-id) for a server that has none")
	case local:
		return bad("OpenAI cannot reach an address of this machine or network; use a tunnel (--tunnel-id)")
	default:
		return nil
	}
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func bad(detail string) error {
	return &discovery.Error{Class: discovery.BadTarget, Detail: detail}
}
