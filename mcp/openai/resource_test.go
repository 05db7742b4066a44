package openai

import (
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func TestResourceMetadataGoesOutInBothSpellings(t *testing.T) {
	yes := true
	o := compile(t, Declarations{Resources: []Resource{
		{URI: "ui://bits/*", CSP: &CSP{Connect: []string{"https://api.example.com", "wss://live.example.com"}, Redirect: []string{"https://pay.example.com"}}, PrefersBorder: &yes},
		{URI: "ui://bits/library", Domain: "https://bits.example.com", HostDomains: map[string]string{"claude": "abc.claudemcpcontent.com"}, Description: "The parts.", Permissions: []string{"clipboardWrite"}},
	}})
	got, found := o.ResourceContent(parse(t, `{"uri":"ui://bits/library","text":"<p>"}`))
	want := `{"uri":"ui://bits/library","text":"<p>","_meta":{` +
		`"ui":{"csp":{"connectDomains":["https://api.example.com","wss://live.example.com"],"resourceDomains":[]},"domain":"https://bits.example.com","prefersBorder":true,"permissions":{"clipboardWrite":{}}},` +
		`"openai/widgetCSP":{"connect_domains":["https://api.example.com","wss://live.example.com"],"resource_domains":[],"redirect_domains":["https://pay.example.com"]},` +
		`"openai/widgetDomain":"https://bits.example.com","openai/widgetPrefersBorder":true,"openai/widgetDescription":"The parts."}}`
	if string(got) != want || len(found) > 0 {
		t.Errorf("got  %s, %v\nwant %s", got, found, want)
	}
	if again, _ := o.ResourceContent(got); string(again) != want {
		t.Errorf("the second time gave %s", again)
	}
	for profile, domain := range map[string]string{"claude": `"abc.claudemcpcontent.com"`, "other": ``} {
		got, _ := o.ResourceContentFor(profile, parse(t, `{"uri":"ui://bits/library","text":""}`))
		if v := got.Get("_meta", "ui", "domain"); string(v) != domain {
			t.Errorf("ui.domain for %s is %s, want %s", profile, v, domain)
		}
	}
}

func TestDeclaredOriginsReplaceTheServersListByList(t *testing.T) {
	o := compile(t, Declarations{Resources: []Resource{{URI: "ui://*", CSP: &CSP{Connect: []string{"https://new.example"}}}}})
	tests := []struct{ meta, standard, own string }{
		{
			`{"ui":{"csp":{"connectDomains":["https://old.example"],"resourceDomains":["https://cdn.example"]}}}`,
			`{"connectDomains":["https://new.example"],"resourceDomains":["https://cdn.example"]}`,
			`{"connect_domains":["https://new.example"],"resource_domains":["https://cdn.example"]}`,
		},
		{
			`{"openai/widgetCSP":{"resource_domains":["https://cdn.example"],"frame_domains":["https://f.example"]}}`,
			`{"connectDomains":["https://new.example"],"resourceDomains":["https://cdn.example"],"frameDomains":["https://f.example"]}`,
			`{"resource_domains":["https://cdn.example"],"frame_domains":["https://f.example"],"connect_domains":["https://new.example"]}`,
		},
	}
	for _, tt := range tests {
		got, _ := o.ResourceContent(parse(t, `{"uri":"ui://a/b","text":"","_meta":`+tt.meta+`}`))
		if standard, own := got.Get("_meta", "ui", "csp"), got.Get("_meta", "openai/widgetCSP"); string(standard) != tt.standard || string(own) != tt.own {
			t.Errorf("%s became %s and %s", tt.meta, standard, own)
		}
	}
}

func TestMirrorCompletesWhatTheServerSays(t *testing.T) {
	o := compile(t, Declarations{Mirror: true})
	tests := []struct{ meta, want string }{
		{
			`{"ui":{"csp":{"connectDomains":["https://a.example"]},"domain":"https://d.example","prefersBorder":false}}`,
			`{"ui":{"csp":{"connectDomains":["https://a.example"],"resourceDomains":[]},"domain":"https://d.example","prefersBorder":false},"openai/widgetCSP":{"connect_domains":["https://a.example"],"resource_domains":[]},"openai/widgetDomain":"https://d.example","openai/widgetPrefersBorder":false}`,
		},
		{
			`{"openai/widgetCSP":{"connect_domains":[],"resource_domains":["https://c.example"],"redirect_domains":["https://r.example"]},"openai/widgetPrefersBorder":true}`,
			`{"openai/widgetCSP":{"connect_domains":[],"resource_domains":["https://c.example"],"redirect_domains":["https://r.example"]},"openai/widgetPrefersBorder":true,"ui":{"csp":{"connectDomains":[],"resourceDomains":["https://c.example"]},"prefersBorder":true}}`,
		},
		{`{"k":1}`, `{"k":1}`},
	}
	for _, tt := range tests {
		item := `{"uri":"ui://a/b","text":"","_meta":` + tt.meta + `}`
		got, _ := o.ResourceContent(parse(t, item))
		if string(got.Get("_meta")) != tt.want {
			t.Errorf("%s became\n     %s\nwant %s", tt.meta, got.Get("_meta"), tt.want)
		}
		if got, _ := plain.ResourceContent(parse(t, item)); string(got) != item {
			t.Errorf("without the option %s became %s", item, got)
		}
	}
}

func TestMediaTypeIsRepairedByOptionOnly(t *testing.T) {
	fix := compile(t, Declarations{RepairMIME: true})
	for mime, want := range map[string]string{
		"text/html+skybridge":        "text/html;profile=mcp-app",
		"text/html; profile=mcp-app": "text/html;profile=mcp-app",
		"text/html;profile=mcp-app":  "text/html;profile=mcp-app",
		"text/html":                  "text/html",
	} {
		item := `{"uri":"ui://a/b","mimeType":"` + mime + `","text":""}`
		got, _ := fix.ResourceContent(parse(t, item))
		if text, _ := got.Get("mimeType").Text(); text != want {
			t.Errorf("%s became %s", mime, text)
		}
		entry, _ := fix.ResourceEntry(parse(t, item))
		if text, _ := entry.Get("mimeType").Text(); text != want {
			t.Errorf("%s became %s in the list", mime, text)
		}
		got, found := plain.ResourceContent(parse(t, item))
		if string(got) != item || (len(found) > 0) != (mime != want) {
			t.Errorf("without the option: %s, %v", got, found)
		}
	}
}

func TestServersOwnResourceMetadataIsReviewed(t *testing.T) {
	tests := []struct{ meta, code string }{
		{`{"ui":{"csp":{"connectDomains":["*"]}}}`, "csp-invalid"},
		{`{"openai/widgetCSP":{"resource_domains":"https://a"}}`, "csp-invalid"},
		{`{"ui":{"csp":{"frameDomains":["https://a.example/path"]}}}`, "csp-invalid"},
		{`{"ui":{"permissions":{"camera":{},"usb":{}}}}`, "permission-unknown"},
		{`{"ui":{"permissions":{"camera":true}}}`, "permission-unknown"},
		{`{"ui":{"permissions":{"camera":{}},"csp":{"connectDomains":["https://a.example"]}}}`, ""},
	}
	for _, tt := range tests {
		item := `{"uri":"ui://a/b","text":"","_meta":` + tt.meta + `}`
		got, found := plain.ResourceContent(parse(t, item))
		if string(got) != item || codes(found) != tt.code {
			t.Errorf("%s: codes %q, want %q; item %s", tt.meta, codes(found), tt.code, got)
		}
	}
	declared := compile(t, Declarations{Resources: []Resource{{URI: "ui://*", Domain: "https://a.example"}}})
	item := `{"uri":"ui://a/b","text":"","_meta":[]}`
	if got, found := declared.ResourceContent(parse(t, item)); string(got) != item || codes(found) != "resource-bad-meta" {
		t.Errorf("got %s, %v", got, found)
	}
}

func TestOrigins(t *testing.T) {
	connect, base := cspMembers[0].rule, cspMembers[3].rule
	tests := []struct {
		origin string
		rule   originRule
		ok     bool
	}{
		{"https://api.example.com", connect, true},
		{"wss://live.example.com:8443", connect, true},
		{"https://*.example.com", connect, true},
		{"https://*.example.com", base, false},
		{"https://*.com", connect, false},
		{"https://*", connect, false},
		{"https://a.*.com", connect, false},
		{"*", connect, false},
		{"'self'", connect, false},
		{"data:", connect, false},
		{"api.example.com", connect, false},
		{"https://api.example.com/", connect, false},
		{"https://api.example.com/v1", connect, false},
		{"https://api.example.com?x", connect, false},
		{"https://user@api.example.com", connect, false},
		{"https://api.example.com; script-src *", connect, false},
		{"https://api.example.com https://b.example", connect, false},
		{"https://API.example.com", connect, false},
		{"HTTPS://api.example.com", connect, false},
		{"https://täst.example", connect, false},
		{"https://xn--tst-qla.example", connect, true},
		{"http://api.example.com", connect, false},
		{"http://localhost:3000", connect, true},
		{"http://127.0.0.1:3000", connect, true},
		{"ws://[::1]:3000", connect, true},
		{"ws://localhost", base, false},
		{"http://localhost.evil.example", connect, false},
		{"http://127.0.0.1.evil.example", connect, false},
		{"https://[2001:db8::1]", connect, true},
		{"https://[2001:db8::1%25eth0]", connect, false},
		{"https://[::1", connect, false},
		{"https://[1.2.3.4]", connect, false},
		{"https://1.2.3.4", connect, true},
		{"https://1.2.3", connect, false},
		{"https://0x7f.1", connect, false},
		{"https://a.example:0", connect, false},
		{"https://a.example:65536", connect, false},
		{"https://a.example:080", connect, false},
		{"https://a.example:", connect, false},
		{"https://a..example", connect, false},
		{"https://-a.example", connect, false},
		{"https://" + strings.Repeat("a", 64) + ".example", connect, false},
		{"https://", connect, false},
		{"", connect, false},
	}
	for _, tt := range tests {
		if err := checkOrigin(tt.origin, tt.rule); (err == nil) != tt.ok {
			t.Errorf("%q: %v, want accepted %v", tt.origin, err, tt.ok)
		}
	}
}

func TestResourceMistakesAreFoundAtLoad(t *testing.T) {
	tests := []struct {
		declared []Resource
		says     string
	}{
		{[]Resource{{URI: "https://a", Domain: "https://a.example"}}, "must begin with ui://"},
		{[]Resource{{URI: "ui://a", CSP: &CSP{}}}, "names no origin"},
		{[]Resource{{URI: "ui://a", CSP: &CSP{Connect: []string{"api.example.com"}}}}, "such as https://api.example.com"},
		{[]Resource{{URI: "ui://a", CSP: &CSP{Connect: []string{"http://api.example.com"}}}}, "write https://api.example.com"},
		{[]Resource{{URI: "ui://a", CSP: &CSP{Frame: []string{"https://a.example", "https://a.example"}}}}, "twice"},
		{[]Resource{{URI: "ui://a", Domain: "https://*.example.com"}}, "wildcard"},
		{[]Resource{{URI: "ui://a", HostDomains: map[string]string{"chatgpt": "x"}}}, "the domain itself"},
		{[]Resource{{URI: "ui://a", Permissions: []string{"usb"}}}, "camera"},
		{[]Resource{{URI: "ui://a", Domain: "https://a.example"}, {URI: "ui://a", Domain: "https://b.example"}}, "declared twice"},
	}
	for _, tt := range tests {
		_, err := Compile(Declarations{Resources: tt.declared})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: error %v, want one that says %q", tt.declared, err, tt.says)
		}
	}
	if _, err := Compile(Declarations{Resources: []Resource{{URI: "ui://a", Domain: "https://a.example"}, {URI: "ui://a", CSP: &CSP{Connect: []string{"https://b.example"}}}}}); err != nil {
		t.Errorf("two lines about different members: %v", err)
	}
}

func TestHostProfiles(t *testing.T) {
	for name, want := range map[string]string{"openai-mcp": "chatgpt", "ChatGPT": "chatgpt", "claude-ai": "claude", "Inspector": "inspector"} {
		if got := HostProfile(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestRequestParams(t *testing.T) {
	params := `{"name":"t","arguments":{},"_meta":{"openai/resource":{"path":"/home/me/a.stl","representation":"text"},"openai/userLocation":{"city":"B"},"openai/locale":"de","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
	tests := []struct {
		requests Requests
		params   string
		want     string // empty: refused
	}{
		{Requests{}, params, strings.Replace(params, `"path":"/home/me/a.stl",`, ``, 1)},
		{Requests{ResourcePath: "pass"}, params, params},
		{Requests{ResourcePath: "pass", UserLocation: "strip"}, params, strings.Replace(params, `"openai/userLocation":{"city":"B"},`, ``, 1)},
		{Requests{ResourcePath: "pass"}, `{"_meta":{"openai/resource":{"path":1}}}`, ``},
		{Requests{}, `{"_meta":{"openai/resource":{"path":1,"x":2}}}`, `{"_meta":{"openai/resource":{"x":2}}}`},
		{Requests{}, `{"_meta":{"openai/resource":7}}`, `{"_meta":{"openai/resource":7}}`},
		{Requests{}, `{"name":"t"}`, `{"name":"t"}`},
	}
	for _, tt := range tests {
		got, err := compile(t, Declarations{Requests: tt.requests}).RequestParams(parse(t, tt.params))
		if string(got) != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v %s: got %s, %v", tt.requests, tt.params, got, err)
		}
	}
	for _, bad := range []Requests{{ResourcePath: "drop"}, {UserLocation: "hide"}} {
		if _, err := Compile(Declarations{Requests: bad}); err == nil || !strings.Contains(err.Error(), "write strip or pass") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestFileInputCases(t *testing.T) {
	runCases(t, "file.input", func(_ *testing.T, input rawjson.Value) error { return FileInput(input, nil) })
}

func TestFileInputBeyondTheCases(t *testing.T) {
	tests := []struct {
		arguments  string
		extensions []string
		ok         bool
	}{
		{`{"file":{"name":"Part.STL","resourceUri":"host-resource://p"}}`, []string{".stl"}, true},
		{`{"file":{"name":"part.step","resourceUri":"host-resource://p"}}`, []string{".stl"}, false},
		{`{"file":{"name":".stl","resourceUri":"host-resource://p"}}`, []string{".stl"}, false},
		{`{"file":{"name":"a/b.stl","resourceUri":"host-resource://p"}}`, nil, false},
		{`{"file":{"name":"a\\b.stl","resourceUri":"host-resource://p"}}`, nil, false},
		{`{"file":{"name":"a\u0000.stl","resourceUri":"host-resource://p"}}`, nil, false},
		{`{"file":{"name":"","resourceUri":"host-resource://p"}}`, nil, false},
		{`{"file":{"name":"a","resourceUri":"javascript:x"}}`, nil, false},
		{`{"file":{"name":"a"}}`, nil, false},
		{`{"file":"a"}`, nil, false},
		{`{"file":{"name":"a","resourceUri":"host-resource://p"},"mode":"w"}`, nil, false},
	}
	for _, tt := range tests {
		if err := FileInput(parse(t, tt.arguments), tt.extensions); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want accepted %v", tt.arguments, err, tt.ok)
		}
	}
	o := compile(t, Declarations{Entrypoints: []Entrypoint{{Tool: "cad.open", Type: "file", Extensions: []string{".stl"}}}})
	if got := o.FileExtensions("cad.open"); len(got) != 1 || o.FileExtensions("other") != nil {
		t.Errorf("extensions %v", got)
	}
}
