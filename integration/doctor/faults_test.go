package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/issuer"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

func TestNothingIsFoundInACleanSetup(t *testing.T) {
	c := start(t)
	d := c.doctorFor()
	d.Tunnel = true
	report, err := d.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found := ids(report, openai.Doubtful); len(found) > 0 || len(report.Skipped) > 0 {
		t.Errorf("found %+v, skipped %+v", report.Findings, report.Skipped)
	}
	if report.Login != "strict" || report.Era != "modern" || report.Tools < 10 || len(report.Redirects) != 2 {
		t.Errorf("%+v", report)
	}
}

// fault is something that goes wrong, and what the doctor must say of it.
type fault struct {
	name string
	// front stands before the gateway, behind between it and the server,
	// authority before the authorization server.
	front, behind, authority middleware
	doctor                   func(c *clinic, t *testing.T, d *doctor.Doctor)
	want                     []string
}

func wantsSlash(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, r.URL.Path+"/", http.StatusPermanentRedirect)
}

func breakOff(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

const webPage = "<!doctype html><title>App</title><div id=root></div>"

var (
	onEndpoint = path("/mcp")
	pathForm   = path("/.well-known/oauth-protected-resource/mcp")
	rootForm   = path("/.well-known/oauth-protected-resource")
)

func unauthorized(r *http.Request) bool {
	return r.URL.Path == "/mcp" && r.Header.Get("Authorization") == ""
}

func madeUp(r *http.Request) bool {
	return r.URL.Path == "/mcp" && strings.Contains(r.Header.Get("Authorization"), "mcp-app-doctor")
}

func challengeOf(value string) func(http.Header) {
	return func(h http.Header) {
		if h.Get("Www-Authenticate") != "" {
			h.Set("Www-Authenticate", value)
		}
	}
}

func metadata(change func(document map[string]any)) middleware {
	return edit(func(p string) bool { return strings.HasPrefix(p, "/.well-known/oauth-protected-resource") }, change)
}

func authority(change func(document map[string]any)) middleware {
	return edit(func(p string) bool { return strings.Contains(p, "/.well-known/") }, change)
}

func page(change func(item map[string]any)) middleware {
	return results("resources/read", func(result map[string]any) {
		contents, _ := result["contents"].([]any)
		for _, element := range contents {
			change(element.(map[string]any))
		}
	})
}

func schema(properties map[string]any) middleware {
	return tool("list_decks", func(tool map[string]any) {
		tool["inputSchema"] = map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	})
}

var faults = []fault{
	{name: "nothing listens", want: []string{"unreachable"}, doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) {
		server := httptest.NewServer(nil)
		server.Close()
		d.Target.URL = server.URL + "/mcp"
	}},
	{name: "a certificate of one's own", want: []string{"tls-untrusted"}, doctor: func(c *clinic, t *testing.T, d *doctor.Doctor) {
		server := httptest.NewUnstartedServer(c.front)
		server.Config.ErrorLog = discarded
		server.StartTLS()
		t.Cleanup(server.Close)
		d.Target.URL = server.URL + "/mcp"
	}},
	{name: "plain http", want: []string{"address-http", "unreachable"}, doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) {
		d.Target.URL = "http://mcp.invalid/mcp"
	}},
	{name: "the server hangs", want: []string{"silent"}, front: answers(onEndpoint, func(_ http.ResponseWriter, r *http.Request) {
		_ = method(r) // only then is the end of the connection seen
		<-r.Context().Done()
	}), doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) { d.Timeout = 900 * time.Millisecond }},
	{name: "a redirect", want: []string{"redirected"}, front: answers(onEndpoint, wantsSlash)},
	{name: "a web page", want: []string{"not-mcp"}, front: answers(onEndpoint, status(200, "text/html", webPage))},
	{name: "the server is down", want: []string{"unavailable"}, front: answers(onEndpoint, status(502, "text/html", webPage))},
	{name: "the server fails", want: []string{"server-error"}, front: answers(onEndpoint, status(500, "text/plain", "oops"))},
	{name: "too many requests", want: []string{"rate-limited"}, front: answers(onEndpoint, status(429, "text/plain", "slow"))},
	{name: "the connection breaks off", want: []string{"protocol-broken"}, front: answers(onEndpoint, breakOff)},
	{name: "a firewall before the login", want: []string{"forbidden"}, front: answers(unauthorized, status(403, "text/plain", "no")), doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) { d.Target.Token = "" }},
	{name: "a slash is redirected", want: []string{"trailing-slash"}, front: answers(path("/mcp/"), func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/mcp", http.StatusMovedPermanently)
	})},
	{name: "GET shows a page", want: []string{"get-no-stream"}, front: answers(func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/mcp" }, status(200, "text/html", webPage))},
	{name: "the older transport", want: []string{"old-transport"}, front: answers(path("/sse"), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("event: endpoint\ndata: /messages?s=1\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})},
	{name: "the older transport, messages", want: []string{"old-transport"}, front: answers(path("/mcp/messages"), status(202, "text/plain", "Accepted"))},
	{name: "a catch-all page", want: []string{"wellknown-catch-all"}, front: answers(func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, "/.well-known/") && !pathForm(r) && !rootForm(r)
	}, status(200, "text/html", webPage))},
	{name: "a site without a last handler", want: []string{"wellknown-empty"}, front: answers(func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, "/.well-known/") && !pathForm(r) && !rootForm(r)
	}, status(200, "", ""))},

	{name: "a bad token", want: []string{"token-refused"}, doctor: func(c *clinic, t *testing.T, d *doctor.Doctor) {
		d.Target.Token = c.issue(t, issuer.Grant{TTL: -time.Hour})
	}},
	{name: "a token without the scope", want: []string{"token-forbidden"}, doctor: func(c *clinic, t *testing.T, d *doctor.Doctor) {
		d.Target.Token = c.issue(t, issuer.Grant{Scopes: []string{"other"}})
	}},
	{name: "the challenge is lost", want: []string{"challenge-missing"}, front: headers(unauthorized, func(h http.Header) { h.Del("Www-Authenticate") })},
	{name: "the challenge leads nowhere", want: []string{"challenge-metadata"}, front: headers(unauthorized, challengeOf(`Bearer scope="mcp.use"`))},
	{name: "the challenge leads to a page", want: []string{"challenge-metadata"}, front: headers(unauthorized, challengeOf(`Bearer resource_metadata="/relative", scope="mcp.use"`))},
	{name: "the challenge has no scope", want: []string{"challenge-scope"}, front: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			headers(unauthorized, challengeOf(`Bearer resource_metadata="http://`+r.Host+`/.well-known/oauth-protected-resource/mcp"`))(next).ServeHTTP(w, r)
		})
	}},
	{name: "a bad token is good enough", want: []string{"bad-token-accepted"}, front: answers(madeUp, status(200, "application/json", `{"jsonrpc":"2.0","id":"mcp-app-probe","result":{}}`))},
	{name: "a bad token is a bad request", want: []string{"bad-token-challenge"}, front: answers(madeUp, status(400, "text/plain", "bad"))},
	{name: "no document", want: []string{"challenge-metadata", "metadata-missing"}, front: answers(func(r *http.Request) bool { return pathForm(r) || rootForm(r) }, status(404, "text/plain", "no"))},
	{name: "no document under the path", want: []string{"challenge-metadata", "metadata-path"}, front: answers(pathForm, status(404, "text/plain", "no"))},
	{name: "two documents", want: []string{"metadata-differs"}, front: edit(func(p string) bool { return p == "/.well-known/oauth-protected-resource" }, func(d map[string]any) { d["resource"] = "https://other.example/mcp" })},
	{name: "a document as text", want: []string{"metadata-type"}, front: headers(pathForm, func(h http.Header) { h.Set("Content-Type", "text/plain") })},
	{name: "a document of another resource", want: []string{"metadata-resource"}, front: metadata(func(d map[string]any) { d["resource"] = "https://other.example/mcp" })},
	{name: "a document without servers", want: []string{"metadata-servers"}, front: metadata(func(d map[string]any) { d["authorization_servers"] = []string{} })},

	{name: "no authorization server", want: []string{"as-unreachable"}, authority: answers(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/.well-known/") }, status(503, "text/plain", "no"))},
	{name: "another issuer", want: []string{"as-issuer"}, authority: authority(func(d map[string]any) { d["issuer"] = "https://other.example" })},
	{name: "no token endpoint", want: []string{"as-endpoints"}, authority: authority(func(d map[string]any) { delete(d, "token_endpoint") })},
	{name: "no S256", want: []string{"as-s256"}, authority: authority(func(d map[string]any) { d["code_challenge_methods_supported"] = []string{"plain"} })},
	{name: "no registration", want: []string{"as-registration"}, authority: authority(func(d map[string]any) { delete(d, "registration_endpoint") })},
	{name: "registration is gone", want: []string{"as-registration-unreachable"}, authority: answers(path("/register"), http.NotFound)},
	{name: "mTLS only", want: []string{"as-auth-method"}, authority: authority(func(d map[string]any) { d["token_endpoint_auth_methods_supported"] = []string{"tls_client_auth"} })},
	{name: "no refresh", want: []string{"as-refresh"}, authority: authority(func(d map[string]any) { d["grant_types_supported"] = []string{"authorization_code"} })},
	{name: "two servers in one", want: []string{"as-documents-differ"}, authority: edit(func(p string) bool { return strings.Contains(p, "openid-configuration") }, func(d map[string]any) { d["token_endpoint"] = "https://other.example/token" })},

	{name: "a proxy takes Origin away", want: []string{"origin-unchecked"}, front: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Origin")
			next.ServeHTTP(w, r)
		})
	}},
	{name: "a proxy answers preflights", want: []string{"preflight-differs"}, front: answers(func(r *http.Request) bool { return r.Method == http.MethodOptions }, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.WriteHeader(http.StatusNoContent)
	})},
	{name: "nothing is exposed", want: []string{"cors-expose"}, front: headers(func(r *http.Request) bool { return r.Header.Get("Origin") != "" }, func(h http.Header) { h.Del("Access-Control-Expose-Headers") })},

	{name: "discover is a page", want: []string{"discover-broken"}, front: answers(func(r *http.Request) bool { return asks("server/discover")(r) && authorized(r) }, status(200, "text/html", webPage))},
	{name: "discover breaks off", want: []string{"discover-broken"}, front: answers(func(r *http.Request) bool { return asks("server/discover")(r) && authorized(r) }, breakOff)},
	{name: "invented names", want: []string{"discover-shape"}, front: results("server/discover", func(r map[string]any) { delete(r, "resultType") })},
	{name: "no cache hints", want: []string{"cache-hints-missing"}, front: results("server/discover", func(r map[string]any) { delete(r, "ttlMs") })},
	{name: "a public answer", want: []string{"cache-scope"}, front: results("tools/list", func(r map[string]any) { r["cacheScope"] = "public" })},
	{name: "an older place", want: []string{"capability-place"}, front: results("server/discover", func(r map[string]any) {
		capabilities := r["capabilities"].(map[string]any)
		extensions := capabilities["extensions"].(map[string]any)
		capabilities["experimental"] = map[string]any{"openai/settings": extensions["openai/settings"]}
		delete(extensions, "openai/settings")
	})},
	{name: "settings without their tool", want: []string{"capability-unfit"}, front: results("server/discover", func(r map[string]any) {
		r["capabilities"].(map[string]any)["extensions"].(map[string]any)["openai/settings"] = map[string]any{"readTool": "nothing", "updateTool": "settings.update"}
	})},
	{name: "the newer era only", want: []string{"initialize-refused"}, front: answers(func(r *http.Request) bool { return asks("initialize")(r) && authorized(r) }, status(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`))},
	{name: "half an initialize", want: []string{"initialize-shape"}, front: results("initialize", func(r map[string]any) { delete(r, "serverInfo") })},
	{name: "a tool of one era", want: []string{"eras-differ"}, front: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Session-Id") == "" {
				next.ServeHTTP(w, r)
				return
			}
			results("tools/list", func(result map[string]any) { result["tools"] = result["tools"].([]any)[1:] })(next).ServeHTTP(w, r)
		})
	}},
	{name: "cookies", want: []string{"cookie"}, front: headers(asks("tools/list"), func(h http.Header) { h.Set("Set-Cookie", "lb=1") })},
	{name: "streams are held back", want: []string{"stream-buffered"}, front: answers(asks("subscriptions/listen"), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}), doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) { d.StreamWait = 500 * time.Millisecond }},
	{name: "streams are compressed", want: []string{"stream-compressed"}, front: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if method(r) != "tools/list" {
				next.ServeHTTP(w, r)
				return
			}
			answer := record(next, r)
			body := "data: " + strings.TrimSpace(answer.Body.String()) + "\n\n"
			answer.Header().Set("Content-Type", "text/event-stream")
			answer.Header().Set("Content-Encoding", "gzip")
			answer.Body.Reset()
			compress(answer.Body, body)
			replay(w, answer)
		})
	}},
	{name: "the tunnel finds no document", want: []string{"tunnel-not-ready"}, front: answers(func(r *http.Request) bool { return asks("initialize")(r) && !authorized(r) }, status(404, "text/plain", "no")), doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) { d.Tunnel = true }},

	{name: "the tunnel is led to another origin for the document", want: []string{"challenge-metadata", "metadata-path", "tunnel-not-ready"}, front: answers(pathForm, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
	}), doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) { d.Tunnel = true }},
	{name: "the tunnel gets a page for the document", want: []string{"challenge-metadata", "metadata-path", "tunnel-not-ready"}, front: answers(pathForm, status(200, "text/html", webPage)), doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) { d.Tunnel = true }},
	{name: "the tunnel finds no document by the path", front: answers(pathForm, status(503, "text/plain", "later")), want: []string{"challenge-metadata", "metadata-path"}, doctor: func(_ *clinic, _ *testing.T, d *doctor.Doctor) { d.Tunnel = true }},

	{name: "a Unicode class", want: []string{"S01"}, behind: schema(map[string]any{"a": map[string]any{"type": "string", "pattern": `\p{L}+`}})},
	{name: "look-around", want: []string{"S02"}, behind: schema(map[string]any{"a": map[string]any{"type": "string", "pattern": `(?=a)b`}})},
	{name: "a list of items", want: []string{"S05"}, behind: schema(map[string]any{"a": map[string]any{"type": "array", "items": []any{map[string]any{"type": "string"}}}})},
	{name: "anyOf at the root", want: []string{"S04"}, behind: tool("list_decks", func(tool map[string]any) {
		tool["inputSchema"] = map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false, "anyOf": []any{map[string]any{"required": []string{}}}}
	})},
	{name: "another document", want: []string{"S13"}, behind: schema(map[string]any{"a": map[string]any{"$ref": "https://other.example/schema.json"}})},
	{name: "a tool without a schema", want: []string{"catalog-malformed"}, front: tool("list_decks", func(tool map[string]any) { delete(tool, "inputSchema") })},
	{name: "no hints", want: []string{"hints-missing"}, behind: tool("list_decks", func(tool map[string]any) { delete(tool, "annotations") })},
	{name: "no description", want: []string{"description-missing"}, behind: tool("list_decks", func(tool map[string]any) { delete(tool, "description") })},
	{name: "an entrypoint of the server that needs arguments", want: []string{"entrypoint-invalid"}, behind: tool("workspace.tray", func(tool map[string]any) {
		tool["_meta"].(map[string]any)["openai/ui"] = map[string]any{"entrypoints": []any{map[string]any{"type": "galaxy"}}}
	})},
	{name: "a policy on a tool", want: []string{"csp-on-tool"}, behind: tool("workspace.tray", func(tool map[string]any) {
		tool["_meta"].(map[string]any)["openai/widgetCSP"] = map[string]any{"connect_domains": []string{"https://a.example"}}
	})},
	{name: "two pages for one tool", want: []string{"ui-resource-mismatch"}, front: tool("workspace.tray", func(tool map[string]any) {
		tool["_meta"].(map[string]any)["openai/outputTemplate"] = "ui://workspace/home"
	})},
	{name: "no tools", want: []string{"capability-unfit", "tools-none"}, front: results("tools/list", func(r map[string]any) { r["tools"] = []any{} })},

	{name: "a page that is gone", want: []string{"page-missing"}, front: answers(asks("resources/read"), func(w http.ResponseWriter, r *http.Request) {
		status(200, "application/json", `{"jsonrpc":"2.0","id":`+id(r)+`,"error":{"code":-32602,"message":"gone"}}`)(w, r)
	})},
	{name: "a page of another address", want: []string{"page-uri"}, front: page(func(item map[string]any) { item["uri"] = "ui://other/page" })},
	{name: "an empty page", want: []string{"page-empty"}, front: page(func(item map[string]any) { delete(item, "text") })},
	{name: "a media type of before", want: []string{"resource-mime"}, front: page(func(item map[string]any) { item["mimeType"] = "text/html+skybridge" })},
	{name: "one spelling", want: []string{"csp-one-spelling"}, front: page(func(item map[string]any) {
		item["_meta"] = map[string]any{"ui": map[string]any{"csp": map[string]any{"connectDomains": []string{"https://api.example.com"}}}}
	})},
	{name: "no origin", want: []string{"csp-invalid"}, front: page(func(item map[string]any) {
		item["_meta"] = map[string]any{
			"ui":               map[string]any{"csp": map[string]any{"connectDomains": []string{"api.example.com/path"}}},
			"openai/widgetCSP": map[string]any{"connect_domains": []string{"api.example.com/path"}},
		}
	})},
	{name: "modes that there are not", want: []string{"display-invalid"}, front: page(func(item map[string]any) {
		item["_meta"] = map[string]any{"openai/ui": map[string]any{"availableDisplayModes": []string{"pip"}}}
	})},
}

// TestEachFaultIsFoundAndNothingElse runs through real sockets, one fault at a
// time.
func TestEachFaultIsFoundAndNothingElse(t *testing.T) {
	c := start(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			c.front.set(f.front)
			c.behind.set(f.behind)
			c.authority.set(f.authority)
			defer c.front.set(nil)
			defer c.behind.set(nil)
			defer c.authority.set(nil)
			d := c.doctorFor()
			if f.doctor != nil {
				f.doctor(c, t, d)
			}
			report, err := d.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if found := ids(report, openai.Doubtful); !slices.Equal(found, f.want) {
				t.Errorf("found %q, want %q\n%+v", found, f.want, report.Findings)
			}
			for _, finding := range report.Findings {
				if finding.Why == "" || finding.Fix == "" || finding.Detail == "" {
					t.Errorf("not explained: %+v", finding)
				}
			}
		})
	}
}

// withoutLogins is the same endpoint for callers without tokens.
func withoutLogins(mode string) string {
	start, end := strings.Index(site, "\t\tauth {"), strings.Index(site, "\t\tpolicy {")
	text := site[:start] + "\t\tauth {\n\t\t\tmode none\n\t\t}\n" + site[end:]
	if mode == "mixed" {
		text = strings.Replace(site, "auth {", "auth {\n\t\t\tmode mixed", 1)
		start, end = strings.Index(text, "\t\ttenant {"), strings.Index(text, "\t\tpolicy {")
		text = text[:start] + text[end:]
		for _, kind := range []string{"tool", "prompt", "resource", "template"} {
			text = strings.Replace(text, kind+" *", kind+" * {\n\t\t\t\tanonymous\n\t\t\t}", 1)
		}
		text = strings.Replace(text, "\t\t\tscopes mcp.use\n", "", 1)
	}
	return text
}

var otherModes = map[string][]fault{
	"none": {
		{name: "clean"},
		{name: "a document about logins", front: answers(rootForm, status(200, "application/json", `{"resource":"x"}`)), want: []string{"wellknown-without-login"}},
		{name: "a page for documents", front: answers(pathForm, status(200, "text/html", webPage)), want: []string{"wellknown-without-login"}},
		{name: "a tool that wants a login", want: []string{"oauth-without-login"}, front: tool("list_decks", func(tool map[string]any) {
			tool["securitySchemes"] = []any{map[string]any{"type": "oauth2", "scopes": []string{}}}
		})},
		{name: "a longer list than is read", want: []string{"catalog-too-large"}, front: results("tools/list", func(r map[string]any) {
			tools := r["tools"].([]any)
			for i := range 2001 {
				tools = append(tools, map[string]any{"name": fmt.Sprint("t", i), "inputSchema": map[string]any{"type": "object"}})
			}
			r["tools"] = tools
		})},
	},
	"mixed": {
		{name: "clean"},
		{name: "nothing says who must log in", want: []string{"security-schemes-missing"}, front: tool("list_decks", func(tool map[string]any) {
			delete(tool, "securitySchemes")
			tool["_meta"] = map[string]any{}
		})},
	},
}

func TestEndpointsOfOtherModesAreJudgedByTheirOwnRules(t *testing.T) {
	c := start(t)
	for mode, list := range otherModes {
		if err := c.Reload([]byte(withoutLogins(mode))); err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			c.front.set(f.front)
			d := c.doctorFor()
			d.Target.Token, d.Tunnel = "", f.front == nil
			report, err := d.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if found := ids(report, openai.Doubtful); !slices.Equal(found, f.want) || report.Login != mode {
				t.Errorf("%s, %s: login %s, found %q, want %q\n%+v", mode, f.name, report.Login, found, f.want, report.Findings)
			}
		}
	}
}

// What ChatGPT does not mind is said to those who ask for it.
func TestNotesAreSaidOnDemand(t *testing.T) {
	c := start(t)
	many := results("tools/list", func(r map[string]any) {
		tools := r["tools"].([]any)
		for i := range 30 {
			tools = append(tools, map[string]any{
				"name": fmt.Sprint("t", i), "description": "One of many.", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{}},
				"annotations": map[string]any{"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false},
			})
		}
		r["tools"] = tools
	})
	long := results("server/discover", func(r map[string]any) { r["instructions"] = strings.Repeat("word ", 200) })
	c.front.set(func(next http.Handler) http.Handler {
		return answers(rootForm, http.NotFound)(many(long(next)))
	})
	report, err := c.doctorFor().Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := ids(report, openai.Note)
	for _, want := range notes {
		if !slices.Contains(found, want) {
			t.Errorf("%s is not found: %q", want, found)
		}
	}
	if loud := ids(report, openai.Doubtful); len(loud) > 0 {
		t.Errorf("more than notes: %q", loud)
	}
}

var notes = []string{"address-local", "instructions-long", "metadata-root", "tools-many"}

// byConfig are found in a configuration; see the tests of the command.
var byConfig = []string{
	"declared-tool-missing", "endpoint-refused", "navigate-unguarded", "rule-unused", "state-local", "storage-local",
	"token-audience", "token-tenant", "token-type",
}

// TestEveryRuleHasAFault keeps codes from being made up that nothing shows.
func TestEveryRuleHasAFault(t *testing.T) {
	shown := slices.Concat(notes, byConfig)
	for _, list := range [][]fault{faults, otherModes["none"], otherModes["mixed"]} {
		for _, f := range list {
			shown = append(shown, f.want...)
		}
	}
	for _, rule := range doctor.Rules() {
		if _, others := openai.RuleOf(rule.ID); !others && !slices.Contains(shown, rule.ID) {
			t.Errorf("no fault shows %s", rule.ID)
		}
	}
}
