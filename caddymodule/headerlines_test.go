package caddymodule

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
)

// Whoever changes one header after us, in whatever way, changes no other.
func TestHeaderLinesStandForThemselves(t *testing.T) {
	var lines headerLines
	h := http.Header{}
	for i := range len(lines.values) + 3 {
		lines.set(h, "X-"+strconv.Itoa(i), "value "+strconv.Itoa(i))
	}
	h.Add("X-1", "added")
	h["X-4"][0] = "changed"
	want := map[string][]string{"X-1": {"value 1", "added"}, "X-4": {"changed"}}
	for name, values := range h {
		expected := want[name]
		if expected == nil {
			expected = []string{"value " + name[len("X-"):]}
		}
		if !slices.Equal(values, expected) {
			t.Errorf("%s is %q, want %q", name, values, expected)
		}
	}
}

func TestASnapshotGivesTheHeadersBack(t *testing.T) {
	original := func() http.Header {
		return http.Header{"A": {"1", "2", "3"}, "B": {""}, "Date": nil, "lower": {"x"}}
	}
	h := original()
	s := snapshotOf(h)
	h["A"][0] = "changed"
	h.Set("B", "changed")
	h.Add("C", "new")
	clear(h)
	s.into(h)
	if !maps.EqualFunc(h, original(), slices.Equal) {
		t.Errorf("got %v, want %v", h, original())
	}
	if _, ok := h["Date"]; !ok {
		t.Error("a name without values is lost")
	}
}
