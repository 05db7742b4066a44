package doctor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
)

// Where ChatGPT lets users come back after they logged in (Apps SDK,
// authentication): the first is the default, the second is used where the
// server names itself in its answers (RFC 9207).
const (
	redirectByConnection = "https://chatgpt.com/connector/oauth/{callback_id}"
	redirectShared       = "https://chatgpt.com/connector_platform_oauth_redirect"
)

// usableMethods are ways in which ChatGPT identifies itself at a token endpoint.
var usableMethods = []string{"none", "private_key_jwt", "client_secret_post", "client_secret_basic"}

// serverDocument is what counts of an authorization server's metadata (RFC 8414
// §2).
type serverDocument struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Grants        []string `json:"grant_types_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
	NamesItself   bool     `json:"authorization_response_iss_parameter_supported"`
}

// authorizationServers judges whether ChatGPT can log in.
func (c *check) authorizationServers(issuers []string) {
	for _, issuer := range issuers[:min(len(issuers), maxServers)] {
		c.say("authorization server " + c.clean(issuer))
		found := c.serverDocuments(issuer)
		if found == nil {
			continue
		}
		c.judgeServer(issuer, found)
		c.report.Redirects = append(c.report.Redirects, redirectByConnection, redirectShared)
	}
	slices.Sort(c.report.Redirects)
	c.report.Redirects = slices.Compact(c.report.Redirects)
}

// serverDocuments finds the metadata and compares all that there is of it.
func (c *check) serverDocuments(issuer string) *serverDocument {
	addresses, err := c.IssuerMetadata(issuer)
	if err != nil {
		c.add("as-unreachable", c.clean(issuer), "the name is no https address")
		return nil
	}
	var first *serverDocument
	status := 0
	for _, address := range addresses {
		d := c.fetch(address)
		found := new(serverDocument)
		if status = max(status, d.status); d.status != http.StatusOK || json.Unmarshal(d.body, found) != nil {
			continue
		}
		if first == nil {
			first = found
		} else if *key(first) != *key(found) {
			c.add("as-documents-differ", c.clean(issuer), "its OAuth and OpenID documents name different endpoints")
		}
	}
	if first == nil {
		why := fmt.Sprintf("status %d", status)
		if status == 0 {
			why = "it cannot be reached"
		}
		c.add("as-unreachable", c.clean(issuer), "no metadata document can be had: "+why)
	}
	return first
}

// key is what both documents of a server must agree on.
func key(d *serverDocument) *[3]string { return &[3]string{d.Issuer, d.Authorization, d.Token} }

func (c *check) judgeServer(issuer string, d *serverDocument) {
	bad := func(id, detail string) { c.add(id, c.clean(issuer), detail) }
	if d.Issuer != issuer {
		bad("as-issuer", fmt.Sprintf("its document says %q", c.clean(d.Issuer)))
	}
	if d.Authorization == "" || d.Token == "" {
		bad("as-endpoints", "its document has no authorization_endpoint or no token_endpoint")
	}
	if !slices.Contains(d.Challenges, "S256") {
		bad("as-s256", "code_challenge_methods_supported does not hold S256")
	}
	if !d.Documents && d.Registration == "" {
		bad("as-registration", "there is neither client_id_metadata_document_supported nor a registration_endpoint")
	}
	if d.Registration != "" {
		c.registrationEndpoint(issuer, d.Registration)
	}
	if len(d.Methods) > 0 && !slices.ContainsFunc(d.Methods, func(m string) bool { return slices.Contains(usableMethods, m) }) {
		bad("as-auth-method", "token_endpoint_auth_methods_supported is "+c.clean(strings.Join(d.Methods, ", ")))
	}
	if len(d.Grants) > 0 && !slices.Contains(d.Grants, "refresh_token") {
		bad("as-refresh", "grant_types_supported does not hold refresh_token")
	}
}

// registrationEndpoint looks whether something is there, without registering.
func (c *check) registrationEndpoint(issuer, address string) {
	step, _, err := c.engine().Probe(c.ctx, discovery.Target{URL: address}, http.MethodGet, nil, nil)
	if err != nil || step.Status == http.StatusNotFound {
		c.add("as-registration-unreachable", c.clean(issuer), "nothing answers at its registration_endpoint")
	}
}
