package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ReadOnlyHint is the annotation behind the word `readonly`.
const ReadOnlyHint = "readOnlyHint"

// hintDefaults are the values of hints that a tool does not give (MCP
// 2025-11-25, schema, ToolAnnotations): the cautious ones.
var hintDefaults = map[string]bool{
	ReadOnlyHint:      false,
	"destructiveHint": true,
	"idempotentHint":  false,
	"openWorldHint":   true,
}

// hints are the annotations of a tool as conditions see them. They are the
// server's own word: a rule that asks for them trusts the server.
type hints map[string]bool

// parseHints reads a tool's annotations, which may be absent. A hint that is
// not a boolean counts as not given. The hints about harm mean something only
// for tools that write: one that only reads destroys nothing, and may be
// repeated.
func parseHints(raw []byte) (hints, error) {
	given := make(map[string]jsontext.Value)
	if len(raw) > 0 && jsontext.Value(raw).Kind() != 'n' {
		if jsontext.Value(raw).Kind() != '{' {
			return nil, errors.New("annotations are not a JSON object")
		}
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, fmt.Errorf("reading annotations: %w", err)
		}
	}
	h := maps.Clone(hintDefaults)
	for name := range h {
		switch given[name].Kind() {
		case 't':
			h[name] = true
		case 'f':
			h[name] = false
		}
	}
	if h[ReadOnlyHint] {
		h["destructiveHint"], h["idempotentHint"] = false, true
	}
	return h, nil
}

// unmet returns the first wanted hint that h does not have, in words, and
// nothing if there is none.
func (h hints) unmet(wanted map[string]bool) ground {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if h[name] != wanted[name] {
			return ground{CauseAnnotation, fmt.Sprintf("annotation %s is %t", name, h[name]), []string{fmt.Sprintf("%s %t", name, wanted[name])}}
		}
	}
	return ground{}
}

func checkHints(wanted map[string]bool) error {
	for name := range wanted {
		if _, ok := hintDefaults[name]; !ok {
			known := slices.Sorted(maps.Keys(hintDefaults))
			return fmt.Errorf("unknown annotation %q: write %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
