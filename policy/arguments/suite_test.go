package arguments

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// What of the suite is refused, always for one of these reasons. Never is a
// schema judged wrongly.
var outOfScope = []string{
	"leads out of the schema",
	"an $id inside the schema",
	"a $schema inside the schema",
	"$dynamicRef is not supported",
	"is neither draft 2020-12 nor draft-07",
	`leads nowhere`, // an anchor beside a $ref of draft-07
}

// TestSuite holds the checker to the official JSON Schema Test Suite: whatever
// is not refused as unsupported must be judged as the suite says.
func TestSuite(t *testing.T) {
	for file, wantJudged := range map[string]int{"suite-draft2020-12.json": 990, "suite-draft7.json": 864} {
		raw, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var groups map[string][]suiteGroup
		if err := json.Unmarshal(raw, &groups); err != nil {
			t.Fatal(err)
		}
		judged := 0
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			for _, group := range groups[name] {
				s, err := compile(withDialect(file, group.Schema))
				if err != nil {
					expected := slices.ContainsFunc(outOfScope, func(reason string) bool { return strings.Contains(err.Error(), reason) })
					if !expected {
						t.Errorf("%s %s, %s: %v", file, name, group.Description, err)
					}
					continue
				}
				for _, test := range group.Tests {
					judged++
					value, err := decode(test.Data)
					if err != nil {
						t.Fatal(err)
					}
					err = s.check(value, len(test.Data))
					var invalid *InvalidError
					if (err == nil) != test.Valid || err != nil && !errors.As(err, &invalid) {
						t.Errorf("%s %s, %s, %s: %v, want valid=%v", file, name, group.Description, test.Description, err, test.Valid)
					}
				}
			}
		}
		if judged != wantJudged {
			t.Errorf("%s: %d tests judged, want %d", file, judged, wantJudged)
		}
	}
}

// withDialect says in the schema itself what the suite says by its folders.
func withDialect(file string, schema json.RawMessage) []byte {
	if file != "suite-draft7.json" || schema[0] != '{' || strings.Contains(string(schema), `"$schema"`) {
		return schema
	}
	rest := strings.TrimPrefix(string(schema), "{")
	if rest != "}" {
		rest = "," + rest
	}
	return []byte(`{"$schema":"http://json-schema.org/draft-07/schema#"` + rest)
}
