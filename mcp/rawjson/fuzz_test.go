package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzParse proves that whatever Parse accepts is JSON to the standard library
// too, and that edits of it leave JSON in which only the edited member differs.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{}`, ` {"a" : [1,2,{"b":"\u00e9\"}"}] } `, `"x"`, `-1e5`, `[[],{}]`, `{"":{"":0}}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := Parse(src, 16)
		if err != nil {
			return
		}
		if !json.Valid(v) || !bytes.Equal(bytes.TrimSpace(src), v) {
			t.Fatalf("Parse(%q) = %q", src, v)
		}
		if v.Kind() != Object {
			return
		}
		set, err := v.Set(Value(`"new"`), "k\"ey")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(set, 17); err != nil || string(again.Get("k\"ey")) != `"new"` {
			t.Fatalf("Set gave %q: %v", set, err)
		}
		for name, member := range v.Members() {
			if got := set.Get(name); name != "k\"ey" && !bytes.Equal(got, member) {
				t.Fatalf("Set changed %q from %q to %q", name, member, got)
			}
			byName, err := v.Set(Value(`"other"`), name)
			if err != nil {
				t.Fatal(err)
			}
			if byPlace, ok := v.Replace(v.Get(name), Value(`"other"`)); !ok || !bytes.Equal(byPlace, byName) {
				t.Fatalf("Replace of %q in %q gave %q, want %q", name, v, byPlace, byName)
			}
			if _, ok := set.Replace(member, Value(`0`)); ok {
				t.Fatalf("a part of %q was taken for one of %q", v, set)
			}
			shorter, err := Parse(v.Delete(name), 16)
			if err != nil || shorter.Get(name).Exists() || shorter.Len() != v.Len()-1 {
				t.Fatalf("Delete(%q) of %q = %q: %v", name, v, shorter, err)
			}
		}
	})
}
