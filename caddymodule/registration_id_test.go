package caddymodule

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy/registration"
)

var testNames = registrationNames{defaultRegistrationParameter, defaultRegistrationHeader}

// A client that means to be narrowed is narrowed or refused, and never served as
// if it had said nothing.
func TestAnIDIsTakenInOneSpellingOnly(t *testing.T) {
	id, other := registration.NewID(), registration.NewID()
	upper := strings.ToUpper(id)
	const taken, refused, nothing = "taken", "refused", "nothing"
	for _, tt := range []struct {
		name, target string
		header       http.Header
		want         string
		rest         string
	}{
		{"the parameter", "/mcp?registration=" + id, nil, taken, ""},
		{"beside others", "/mcp?a=b%20c&registration=" + id + "&d&a=b", nil, taken, "a=b%20c&d&a=b"},
		{"the header", "/mcp?a=1", http.Header{"X-Mcp-App-Registration": {id}}, taken, "a=1"},
		{"both, the same", "/mcp?registration=" + id, http.Header{"X-Mcp-App-Registration": {id}}, taken, ""},
		{"neither", "/mcp?tier=gold;silver&q=%zz", http.Header{"X-Feature": {"registration"}}, nothing, "tier=gold;silver&q=%zz"},
		{"another word", "/mcp?registrations=1&preregistration=2&registration_id=3", nil, nothing, "registrations=1&preregistration=2&registration_id=3"},
		{"the word as a value", "/mcp?q=registration", nil, nothing, "q=registration"},

		{"both, different", "/mcp?registration=" + id, http.Header{"X-Mcp-App-Registration": {other}}, refused, ""},
		{"an empty header beside", "/mcp?registration=" + id, http.Header{"X-Mcp-App-Registration": {""}}, refused, ""},
		{"repeated", "/mcp?registration=" + id + "&registration=" + id, nil, refused, ""},
		{"repeated in another case", "/mcp?registration=" + id + "&Registration=" + id, nil, refused, ""},
		{"the header repeated", "/mcp", http.Header{"X-Mcp-App-Registration": {id, id}}, refused, ""},
		{"the header as a list", "/mcp", http.Header{"X-Mcp-App-Registration": {id + ", " + id}}, refused, ""},
		{"the header with underscores", "/mcp", http.Header{"X_mcp_app_registration": {id}}, refused, ""},
		{"the header in lower case", "/mcp", http.Header{"x-mcp-app-registration": {id}}, refused, ""},
		{"an id in another header", "/mcp", http.Header{"X-Registration": {id}}, refused, ""},
		{"no value", "/mcp?registration", nil, refused, ""},
		{"an empty value", "/mcp?registration=", nil, refused, ""},
		{"no id", "/mcp?registration=1", nil, refused, ""},
		{"upper case", "/mcp?registration=" + upper, nil, refused, ""},
		{"a space behind", "/mcp?registration=" + id + "%20", nil, refused, ""},
		{"a plus behind", "/mcp?registration=" + id + "+", nil, refused, ""},
		{"an encoded fragment", "/mcp?registration=" + id + "%23x", nil, refused, ""},
		{"a raw fragment", "/mcp?registration=" + id + "#x", nil, refused, ""},
		{"an encoded id", "/mcp?registration=%72" + id[1:], nil, refused, ""},
		{"an encoded name", "/mcp?%72egistration=" + id, nil, refused, ""},
		{"a name encoded twice", "/mcp?%2572egistration=" + id, nil, refused, ""},
		{"a name encoded, no id", "/mcp?registratio%6E=1", nil, refused, ""},
		{"another case", "/mcp?REGISTRATION=" + id, nil, refused, ""},
		{"another case, no id", "/mcp?Registration=1", nil, refused, ""},
		{"a folded letter", "/mcp?regi%C5%BFtration=1", nil, refused, ""},
		{"an array", "/mcp?registration[]=" + id, nil, refused, ""},
		{"an array, encoded", "/mcp?registration%5B0%5D=1", nil, refused, ""},
		{"a space before the name", "/mcp?+registration=1", nil, refused, ""},
		{"a zero behind the name", "/mcp?registration%00=1", nil, refused, ""},
		{"an encoded equals sign", "/mcp?registration%3D" + id, nil, refused, ""},
		{"an encoded ampersand", "/mcp?x%26registration=" + id, nil, refused, ""},
		{"behind a semicolon", "/mcp?a=1;registration=" + id, nil, refused, ""},
		{"before a semicolon", "/mcp?registration=" + id + ";a=1", nil, refused, ""},
		{"in the path", "/mcp;registration=" + id, nil, refused, ""},
		{"in the path, encoded", "/mcp%3Bregistration=" + id, nil, refused, ""},
		{"an id under a misspelt name", "/mcp?registraton=" + id, nil, refused, ""},
		{"a changed id under another name", "/mcp?research=" + upper, nil, refused, ""},
	} {
		r := post(t, "{}", nil)
		path, query, _ := strings.Cut(tt.target, "?")
		if err := r.URL.UnmarshalBinary([]byte(path)); err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = query
		for name, values := range tt.header {
			r.Header[name] = values
		}
		handle, ok := testNames.take(r)
		got := map[bool]string{true: taken, false: nothing}[handle != nil]
		if !ok {
			got = refused
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			continue
		}
		if !ok {
			continue
		}
		if r.URL.RawQuery != tt.rest || r.Header.Get(defaultRegistrationHeader) != "" {
			t.Errorf("%s: left are %q and %v", tt.name, r.URL.RawQuery, r.Header)
		}
		if want, _ := registration.ParseID(id); handle != nil && *handle != want {
			t.Errorf("%s: another id was read", tt.name)
		}
	}
}

// FuzzRegistrationQuery: whatever a lenient reader would take for the parameter
// is taken or refused, and what is left has neither name nor id in it.
func FuzzRegistrationQuery(f *testing.F) {
	id := registration.NewID()
	for _, seed := range []string{"", "registration=" + id, "a=b&registration=" + id, "%72egistration=x", "a;registration=1", "registration[]=" + id, "&&=&", "%%%25"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		ids, rest, ok := testNames.inQuery(query)
		if !ok {
			return
		}
		if len(ids) > 1 {
			t.Fatalf("%d ids in %q", len(ids), query)
		}
		if len(ids) == 0 && rest != query {
			t.Fatalf("%q became %q", query, rest)
		}
		for _, separator := range []string{"&", ";"} {
			for part := range strings.SplitSeq(rest, separator) {
				key, value, _ := strings.Cut(part, "=")
				if _, isID := registration.ParseID(value); isID || strings.EqualFold(unescape(key), "registration") {
					t.Fatalf("%q leaves %q", query, rest)
				}
			}
		}
		if again, _, ok := testNames.inQuery(rest); !ok || len(again) != 0 {
			t.Fatalf("%q leaves %q, which names one again", query, rest)
		}
	})
}
