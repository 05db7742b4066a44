package caddymodule

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// behaviourCase is one accept or reject case of testdata/cases.json.
type behaviourCase struct {
	Feature, Name, Expect, Why string
	Input                      json.RawMessage
}

// casesOf reads the cases of one feature.
func casesOf(t *testing.T, feature string) []behaviourCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all, wanted []behaviourCase
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Feature == feature {
			wanted = append(wanted, c)
		}
	}
	if len(wanted) == 0 {
		t.Fatalf("no cases of %s", feature)
	}
	return wanted
}

// input decodes the input of a case and refuses members nobody looks at.
func input[T any](t *testing.T, c behaviourCase) T {
	t.Helper()
	var v T
	decoder := json.NewDecoder(strings.NewReader(string(c.Input)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%s: %v", c.Input, err)
	}
	return v
}

// Origin is judged before authentication: an allowed page without a token is
// asked to log in, another one is told nothing of that.
func TestOriginCases(t *testing.T) {
	for _, c := range casesOf(t, "origin") {
		t.Run(c.Name, func(t *testing.T) {
			in := input[struct {
				Site         string
				Trusted      []string
				Origin       *string
				SecFetchSite string
			}](t, c)
			m := mustLoad(t, "resource "+in.Site+"/mcp\nauth {\nissuer https://id.example\n}\npolicy {\ntool *\n}\norigins "+strings.Join(in.Trusted, " "))
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodOptions} {
				r := httptest.NewRequestWithContext(t.Context(), method, in.Site+"/mcp", strings.NewReader(listRequest))
				if in.Origin != nil {
					r.Header.Set("Origin", *in.Origin)
				}
				if in.SecFetchSite != "" {
					r.Header.Set("Sec-Fetch-Site", in.SecFetchSite)
				}
				w := serve(t, m, r, func(http.ResponseWriter, *http.Request) error {
					t.Error("went on without a token")
					return nil
				})
				want := http.StatusForbidden
				if c.Expect == "accept" {
					want = map[string]int{http.MethodOptions: http.StatusNoContent}[method]
					if want == 0 {
						want = http.StatusUnauthorized
					}
				}
				if w.Code != want {
					t.Errorf("%s: status %d, want %d: %s", method, w.Code, want, c.Why)
				}
			}
		})
	}
}
