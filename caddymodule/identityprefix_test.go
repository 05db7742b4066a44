package caddymodule

import (
	"strings"
	"testing"
)

// A prefix that takes in other headers would remove them from every request.
func TestIdentityPrefixesTakeInNothingOfOthers(t *testing.T) {
	for _, prefix := range []string{
		"Mcp-", "mcp_", "M", "Mcp-Session-", "Mcp-App-", "Auth", "Authorization", "Proxy-", "Content-", "Content-App-", "X-Forwarded-", "x_forwarded_",
		"X-Forwarded-User-", "X-", "X-Re", "Cookie", "C", "Sec-Fetch-", "Sec-App-", "Access-Control-", "Host", "Trace", "Te", "Cf-", "Openai-", "Last-", "User-", "X-Request-",
		"X Mcp-", "X-Mcp:", "X-Ünï-", "X-\r\n",
	} {
		_, err := load(t, open+"identity {\nheaders \""+prefix+"\"\n}\n")
		if err == nil || !strings.Contains(err.Error(), "such as headers X-Mcp-App-") {
			t.Errorf("%q: %v, want what to write instead", prefix, err)
		}
	}
	for _, prefix := range []string{"X-Mcp-App-", "X-Gateway-", "x_gateway_", "X-User", "Remote-", "Cookie-App-", "Gateway."} {
		if _, err := load(t, open+"identity {\nheaders "+prefix+"\n}\n"); err != nil {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
