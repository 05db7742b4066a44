package links

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// notFollowed lists cases this package decides differently on purpose, by
// feature and name, with the reason. It is empty and should stay so.
var notFollowed = map[string]string{}

// TestCases runs the accept and reject cases of the file, so that a rule cannot
// change without a case that says so.
func TestCases(t *testing.T) {
	t.Parallel()

	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}

	var cases []struct {
		Feature, Name, Expect, Why string
		Input                      json.RawMessage
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}

	checks := map[string]func(json.RawMessage) error{
		"deeplink.url":     checkCase(func(s string) error { _, err := ParseAppURL(s); return err }),
		"deeplink.call":    checkCase(callCase),
		"deeplink.context": contextCase,
		"applink":          checkCase(appLinkCase),
		"navlink.fallback": checkCase(func(s string) error { _, err := ParseFallback(s); return err }),
		"onboarding":       checkCase(CheckOnboardingSkill),
	}
	ran := map[string]int{}

	for _, c := range cases {
		t.Run(c.Feature+"/"+c.Name, func(t *testing.T) {
			check := checks[c.Feature]
			if check == nil {
				t.Fatalf("no check for feature %q", c.Feature)
			}

			ran[c.Feature]++
			accepted := c.Expect == "accept"

			err := check(expand(t, c.Input))
			if reason, ok := notFollowed[c.Feature+"/"+c.Name]; ok {
				if accepted == (err == nil) {
					t.Errorf("followed after all, remove it from notFollowed (%s)", reason)
				}

				return
			}

			if accepted != (err == nil) {
				t.Errorf("error = %v, want %s: %s", err, c.Expect, c.Why)
			}
		})
	}

	for feature := range checks {
		if ran[feature] == 0 {
			t.Errorf("no case of feature %q ran", feature)
		}
	}
}

// checkCase decodes the input of a case into T without tolerance: null and
// unknown members are what some cases are about.
func checkCase[T any](check func(T) error) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if string(raw) == "null" {
			return errors.New("input is null")
		}

		var v T

		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()

		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("decoding input: %w", err)
		}

		return check(v)
	}
}

type callInput struct {
	Tool    string
	Catalog []struct {
		Name        string
		Annotations struct{ ReadOnlyHint bool }
	}
	Arguments json.RawMessage
}

func callCase(in callInput) error {
	var catalog []Target
	for _, c := range in.Catalog {
		catalog = append(catalog, Target{Name: c.Name, ReadOnly: c.Annotations.ReadOnlyHint})
	}

	_, err := CheckNavigate(in.Tool, catalog, in.Arguments)

	return err
}

func contextCase(raw json.RawMessage) error {
	u, found, err := HostContextURL(raw)
	if err == nil && found != bytes.Contains(raw, []byte(deepLinkKey)) {
		return fmt.Errorf("found = %v with URL %q", found, u)
	}

	return err
}

type appLinkInput struct {
	PluginID, ToolName, Marketplace string
	Platform                        Platform
	Path                            *string
}

// appLinkCase knows a path that is there and empty from one that is absent,
// which a command line does too and [AppLink] cannot.
func appLinkCase(in appLinkInput) error {
	l := AppLink{PluginID: in.PluginID, Marketplace: in.Marketplace, Tool: in.ToolName, Platform: in.Platform}

	if in.Path != nil {
		path, err := ParseAppURL(*in.Path)
		if err != nil {
			return err
		}

		l.Path = path
	}

	link, err := l.Build()
	if err != nil {
		return err
	}

	again, err := ParseAppLink(link)
	if err != nil {
		return fmt.Errorf("parsing %q: %w", link, err)
	}

	if relink, err := again.Build(); err != nil || relink != link {
		return fmt.Errorf("built %q, then %q, %w", link, relink, err)
	}

	return nil
}

// expand replaces the generators {"$repeat":s,"count":n} and {"$concat":[…]},
// which keep long inputs out of the file.
func expand(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()

	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}

	out, err := json.Marshal(expandValue(v))
	if err != nil {
		t.Fatal(err)
	}

	return out
}

func expandValue(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = expandValue(v[i])
		}
	case map[string]any:
		if s, ok := v["$repeat"].(string); ok {
			return strings.Repeat(s, int(v["count"].(float64)))
		}

		if parts, ok := v["$concat"].([]any); ok {
			var b strings.Builder
			for _, p := range parts {
				b.WriteString(expandValue(p).(string))
			}

			return b.String()
		}

		for k := range v {
			v[k] = expandValue(v[k])
		}
	}

	return v
}
