package rawjson

import (
	"slices"
	"strings"
	"testing"
)

func TestPickFindsMembersAndWhatSomeReadersTakeForThem(t *testing.T) {
	names := []string{"name", "kind", "Id"}
	for _, tt := range []struct {
		src     string
		want    []string
		variant string
	}{
		{`{"kind":1,"other":{"name":0},"name":"x"}`, []string{`"x"`, "1", ""}, ""},
		{`{"n\u0061me":[]}`, []string{"[]", "", ""}, ""},
		{`{"Name":1,"name":2}`, []string{"2", "", ""}, "Name"},
		{`{"NAM\u0045":1}`, []string{"", "", ""}, "NAME"},
		{`{"` + "\u212a" + `ind":1,"id":2}`, []string{"", "", ""}, "\u212aind"},
		{`{"":0,"nam":0,"namee":0}`, []string{"", "", ""}, ""},
		{`[1]`, []string{"", "", ""}, ""},
	} {
		to := []Value{Value("stale"), nil, nil}
		variant := mustParse(t, tt.src).Pick(names, to)
		var got []string
		for _, v := range to {
			got = append(got, string(v))
		}
		if !slices.Equal(got, tt.want) || variant != tt.variant {
			t.Errorf("%s: got %q, %q, want %q, %q", tt.src, got, variant, tt.want, tt.variant)
		}
	}
}

// FuzzPick compares with looking up one name at a time.
func FuzzPick(f *testing.F) {
	names := []string{"name", "kind", "_meta"}
	for _, seed := range []string{`{"name":1,"Kind":2,"_m\u0065ta":{}}`, `{"` + "\u212a" + `IND":0}`, `{"":1}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := ParseLenient(src, 16)
		if err != nil {
			return
		}
		to := make([]Value, len(names))
		variant := v.Pick(names, to)
		want := ""
		for name := range v.Members() {
			if want == "" && !slices.Contains(names, name) && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
				want = name
			}
		}
		if variant != want {
			t.Fatalf("%q: variant %q, want %q", src, variant, want)
		}
		for i, name := range names {
			if got := v.Get(name); string(got) != string(to[i]) {
				t.Fatalf("%q: %s is %q, want %q", src, name, to[i], got)
			}
		}
	})
}
