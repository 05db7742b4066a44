package policy

import (
	"strings"
	"testing"
)

func pattern(t testing.TB, text string) Pattern {
	t.Helper()
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPatternsMatchExactBytes(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"cad.delete", "cad.delete", true},
		{"cad.delete", "cad.Delete", false},
		{"cad.*", "cad.", true},
		{"cad.*", "cad.a.b", true},
		{"cad.*", "cadxa", false},
		{"*", "", true},
		{"*.read", "settings.read", true},
		{"*.read", "settings.reader", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "abc", true},
		{"a*b*c", "ac", false},
		{"aa*aa", "aaa", false},
		{"aa*aa", "aaaa", true},
		{"ui://bits/*", "ui://bits/x?y", true},
		{"[a]?", "[a]?", true},
		{"[a]?", "ab", false},
		{"**", "anything", true},
	}
	for _, tt := range tests {
		if got := pattern(t, tt.pattern).Match(tt.name); got != tt.want {
			t.Errorf("%q matches %q = %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
	if _, err := ParsePattern(""); err == nil {
		t.Error("empty pattern accepted")
	}
}

func TestOverlapFindsACommonName(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"a*", "*b", true},
		{"ab*", "a*b", true},
		{"ab*", "ac*", false},
		{"*a*", "*b*", true},
		{"x", "x", true},
		{"x", "y", false},
		{"x*", "x", true},
		{"*.read", "settings.*", true},
		{"*.read", "*.write", false},
	}
	for _, tt := range tests {
		a, b := pattern(t, tt.a), pattern(t, tt.b)
		if a.overlaps(b) != tt.want || b.overlaps(a) != tt.want {
			t.Errorf("%q and %q overlap: want %v in both orders", tt.a, tt.b, tt.want)
		}
	}
}

// FuzzPattern holds Match and overlaps against each other: a name that fits
// both patterns proves an overlap.
func FuzzPattern(f *testing.F) {
	f.Add("a*b", "*", "axb")
	f.Add("ab*ba", "a*a", "aba")
	f.Fuzz(func(t *testing.T, a, b, name string) {
		pa, errA := ParsePattern(a)
		pb, errB := ParsePattern(b)
		if errA != nil || errB != nil || len(a)+len(b) > 200 {
			return
		}
		if pa.Match(name) && pb.Match(name) && !pa.overlaps(pb) {
			t.Fatalf("%q fits %q and %q, which do not overlap", name, a, b)
		}
		if filled := strings.ReplaceAll(a, "*", name); !pa.Match(filled) {
			t.Fatalf("%q does not fit %q, made from it", filled, a)
		}
	})
}
