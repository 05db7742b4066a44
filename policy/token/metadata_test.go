package token

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func TestResourceMetadataDocument(t *testing.T) {
	full := ResourceMetadata{
		Resource: "https://gw.example/mcp", AuthorizationServers: []string{"https://id.example/", "https://two.example"},
		ScopesSupported: []string{"b", "a"}, Name: "Parts & bolts <3", Documentation: "https://gw.example/docs",
	}
	const want = `{"resource":"https://gw.example/mcp","authorization_servers":["https://id.example/","https://two.example"],` +
		`"scopes_supported":["b","a"],"bearer_methods_supported":["header"],"resource_name":"Parts & bolts <3","resource_documentation":"https://gw.example/docs"}`
	if got, err := full.JSON(); err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}

	small := ResourceMetadata{Resource: "https://gw.example", AuthorizationServers: []string{"https://id.example"}, ScopesSupported: []string{}}
	const wantSmall = `{"resource":"https://gw.example","authorization_servers":["https://id.example"],"bearer_methods_supported":["header"]}`
	if got, err := small.JSON(); err != nil || string(got) != wantSmall {
		t.Errorf("got  %s, %v\nwant %s", got, err, wantSmall)
	}

	for name, bad := range map[string]ResourceMetadata{
		"no resource":  {AuthorizationServers: []string{"https://id.example"}},
		"no issuer":    {Resource: "https://gw.example"},
		"issuer query": {Resource: "https://gw.example", AuthorizationServers: []string{"https://id.example?x"}},
		"fragment":     {Resource: "https://gw.example#x", AuthorizationServers: []string{"https://id.example"}},
		"bad scope":    {Resource: "https://gw.example", AuthorizationServers: []string{"https://id.example"}, ScopesSupported: []string{"a b"}},
	} {
		if got, err := bad.JSON(); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestMetadataLocation(t *testing.T) {
	for resource, want := range map[string]string{
		"https://h":                   "https://h/.well-known/oauth-protected-resource",
		"https://h/":                  "https://h/.well-known/oauth-protected-resource",
		"https://h/mcp":               "https://h/.well-known/oauth-protected-resource/mcp",
		"https://h:8443/public/mcp":   "https://h:8443/.well-known/oauth-protected-resource/public/mcp",
		"https://h/mcp/":              "https://h/.well-known/oauth-protected-resource/mcp/",
		"https://h/a%2Fb":             "https://h/.well-known/oauth-protected-resource/a%2Fb",
		"https://h/mcp?tenant=a":      "https://h/.well-known/oauth-protected-resource/mcp?tenant=a",
		"https://h/?tenant=a":         "https://h/.well-known/oauth-protected-resource?tenant=a",
		"https://h?tenant=a":          "https://h/.well-known/oauth-protected-resource?tenant=a",
		"http://127.0.0.1:8080/mcp":   "http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp",
		"http://[::1]:8080/mcp":       "http://[::1]:8080/.well-known/oauth-protected-resource/mcp",
		"HTTPS://Gateway.Example/mcp": "https://Gateway.Example/.well-known/oauth-protected-resource/mcp",
	} {
		if got, err := MetadataURL(resource); err != nil || got != want {
			t.Errorf("%s gave %s, %v, want %s", resource, got, err, want)
		}
	}
	if got, err := MetadataPath("https://h/mcp?tenant=a"); err != nil || got != "/.well-known/oauth-protected-resource/mcp" {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{"", "/mcp", "https://", "https://u@h/mcp", "https://h/mcp#x", "ftp://h/mcp", "https://h/m cp"} {
		if got, err := MetadataPath(bad); err == nil {
			t.Errorf("%q gave %s", bad, got)
		}
	}
}

// TestClientAgreesWithChallengeAndMetadata lets the Go SDK's client find the
// document by our challenge.
func TestClientAgreesWithChallengeAndMetadata(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	resource := server.URL + "/mcp"
	metadata := ResourceMetadata{Resource: resource, AuthorizationServers: []string{"https://id.example/"}, ScopesSupported: []string{"mcp.use"}}
	document, address := must(metadata.JSON()), must(MetadataURL(resource))
	mux.HandleFunc(must(MetadataPath(resource)), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", Challenge{ResourceMetadata: address, Scopes: []string{"mcp.use"}}.Header())
		w.WriteHeader(http.StatusUnauthorized)
	})

	resp, err := server.Client().Get(resource)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil || len(challenges) != 1 || challenges[0].Params["scope"] != "mcp.use" {
		t.Fatalf("challenges %+v, %v", challenges, err)
	}
	got, err := oauthex.GetProtectedResourceMetadata(t.Context(), challenges[0].Params["resource_metadata"], resource, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	if got.Resource != resource || len(got.AuthorizationServers) != 1 || got.AuthorizationServers[0] != "https://id.example/" {
		t.Fatalf("metadata %+v", got)
	}
}
