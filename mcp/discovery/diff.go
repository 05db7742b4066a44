package discovery

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Difference is what changed between two catalogs.
type Difference struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []Change `json:"changed"`
}

// Change names the members of a tool that are not the same any more.
type Change struct {
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

// Any reports whether there is a difference.
func (d Difference) Any() bool { return len(d.Added)+len(d.Removed)+len(d.Changed) > 0 }

// Compare tells what changed from before to after. Order, white space and
// spelling of JSON do not count. only, if not nil, names the members to compare:
// OpenAI tells about some only.
func Compare(before, after []rawjson.Value, only []string) Difference {
	d := Difference{Added: []string{}, Removed: []string{}, Changed: []Change{}}
	old := make(map[string]rawjson.Value, len(before))
	for _, tool := range before {
		name, _ := tool.Get("name").Text()
		old[name] = tool
	}
	kept := make(map[string]bool, len(after))
	for _, tool := range after {
		name, _ := tool.Get("name").Text()
		earlier, was := old[name]
		kept[name] = true
		if !was {
			d.Added = append(d.Added, name)
		} else if members := changedMembers(earlier, tool, only); len(members) > 0 {
			d.Changed = append(d.Changed, Change{name, members})
		}
	}
	for name := range old {
		if !kept[name] {
			d.Removed = append(d.Removed, name)
		}
	}
	slices.Sort(d.Added)
	slices.Sort(d.Removed)
	slices.SortFunc(d.Changed, func(a, b Change) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return d
}

func changedMembers(before, after rawjson.Value, only []string) []string {
	names := only
	if names == nil {
		seen := make(map[string]bool)
		for _, v := range []rawjson.Value{before, after} {
			for name := range v.Members() {
				if !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			}
		}
	}
	var changed []string
	for _, name := range names {
		if !bytes.Equal(Canonical(before.Get(name)), Canonical(after.Get(name))) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// Canonical writes a value so that equal values have equal bytes: members sorted,
// no white space, strings in one spelling; numbers stay as they are.
func Canonical(v rawjson.Value) []byte {
	text := jsontext.Value(bytes.Clone(v))
	// What does not format was not parsed: it is compared as it is.
	_ = text.Format(jsontext.ReorderRawObjects(true), jsontext.AllowInvalidUTF8(true))
	return text
}
