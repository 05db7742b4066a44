package registration

import (
	"strings"
	"testing"
	"time"
)

func TestRequestsAreReadStrictly(t *testing.T) {
	const rest = `"endpoint":"/mcp","tools":["search"]`
	long := `"` + strings.Repeat("x", maxText+1) + `"`
	for text, want := range map[string]bool{
		`{` + rest + `}`: true,
		`{` + rest + `,"max_calls":1,"ttl":"1s","principal":{"issuer":"i","subject":"s"}}`: true,
		`{` + rest + `,"principal":null}`:                                                  true,
		`{"tools":["search"]}`:                                                             false,
		`{"endpoint":"/mcp"}`:                                                              false,
		`{"endpoint":"/mcp","tools":[]}`:                                                   false,
		`{"endpoint":"/mcp","tools":[""]}`:                                                 false,
		`{"endpoint":"/mcp","tools":["*"]}`:                                                false,
		`{"endpoint":"/mcp","tools":["a","a"]}`:                                            false,
		`{"endpoint":"/mcp","tools":["a\u0000"]}`:                                          false,
		`{"endpoint":"/mcp","tools":[` + long + `]}`:                                       false,
		`{` + rest + `,"max_calls":0}`:                                                     false,
		`{` + rest + `,"max_calls":-1}`:                                                    false,
		`{` + rest + `,"max_calls":1.5}`:                                                   false,
		`{` + rest + `,"max_calls":100001}`:                                                false,
		`{` + rest + `,"ttl":"0s"}`:                                                        false,
		`{` + rest + `,"ttl":"-1s"}`:                                                       false,
		`{` + rest + `,"ttl":"25h"}`:                                                       false,
		`{` + rest + `,"ttl":60}`:                                                          false,
		`{` + rest + `,"principal":{"subject":"s"}}`:                                       false,
		`{` + rest + `,"principal":{"issuer":"i"}}`:                                        false,
		`{` + rest + `,"Max_Calls":5}`:                                                     false,
		`{` + rest + `,"tools":["delete"]}`:                                                false,
		`{` + rest + `,"scopes":["x"]}`:                                                    false,
		`{` + rest + `,"principal":{"issuer":"i","subject":"s","Tenant":"t"}}`:             false,
		`{` + rest + `} `:                                                                  true,
		`{` + rest + `}{}`:                                                                 false,
		`[]`:                                                                               false,
		``:                                                                                 false,
	} {
		if _, err := ParseRequest([]byte(text), DefaultMaxTTL); (err == nil) != want {
			t.Errorf("%.120s: %v", text, err)
		}
	}
}

func TestRequestsHaveTheirDefaults(t *testing.T) {
	for maxTTL, want := range map[time.Duration]time.Duration{DefaultMaxTTL: time.Hour, time.Minute: time.Minute} {
		r, err := ParseRequest([]byte(`{"endpoint":"/mcp","tools":["search"]}`), maxTTL)
		if err != nil || r.MaxCalls != 12 || r.TTL != want {
			t.Errorf("at most %s: %+v, %v", maxTTL, r, err)
		}
	}
}
