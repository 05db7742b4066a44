package rawjson

import (
	"errors"
	"strings"
	"testing"
)

func mustParse(t testing.TB, src string) Value {
	t.Helper()
	v, err := Parse([]byte(src), 64)
	if err != nil {
		t.Fatalf("Parse(%s): %v", src, err)
	}
	return v
}

func TestParseRefusesWhatTwoReadersCouldReadDifferently(t *testing.T) {
	refused := map[string]string{
		"empty":                 "",
		"only space":            "  ",
		"byte order mark":       "\ufeff{}",
		"trailing value":        "{} {}",
		"trailing garbage":      "{} x",
		"duplicate name":        `{"a":1,"a":2}`,
		"duplicate by escape":   `{"a":1,"\u0061":2}`,
		"nested duplicate":      `{"p":{"n":1,"n":2}}`,
		"bad UTF-8":             "{\"a\":\"\xff\"}",
		"lone surrogate":        `{"a":"\ud800"}`,
		"single quotes":         `{'a':1}`,
		"trailing comma":        `{"a":1,}`,
		"comment":               `{/**/}`,
		"NaN":                   `{"a":NaN}`,
		"leading zero":          `{"a":01}`,
		"unterminated":          `{"a":"`,
		"control in string":     "{\"a\":\"\x01\"}",
		"mismatched brackets":   `{"a":[}]`,
		"deeper than the limit": strings.Repeat("[", 65) + strings.Repeat("]", 65),
	}
	for name, src := range refused {
		if v, err := Parse([]byte(src), 64); err == nil {
			t.Errorf("%s: accepted as %s", name, v)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("[", 65)), 64); !errors.Is(err, ErrTooDeep) {
		t.Errorf("65 levels: got %v, want ErrTooDeep", err)
	}
	if _, err := Parse([]byte(strings.Repeat("[", 64)+strings.Repeat("]", 64)), 64); err != nil {
		t.Errorf("64 levels: %v", err)
	}
}

func TestLenientParsePassesCutEmojiButNotRepeatedNames(t *testing.T) {
	if _, err := ParseLenient([]byte(`{"text":"cut \ud83d"}`), 64); err != nil {
		t.Errorf("unpaired surrogate: %v", err)
	}
	if _, err := ParseLenient([]byte(`{"a":1,"a":2}`), 64); err == nil {
		t.Error("repeated name accepted")
	}
}

func TestGetFindsExactNamesOnly(t *testing.T) {
	v := mustParse(t, `{"Name":"x","na\u006de":"esc","o":{"k":[1,{"z":null}]},"e":""}`)
	for path, want := range map[string]string{"name": `"esc"`, "Name": `"x"`, "o.k": `[1,{"z":null}]`, "e": `""`} {
		if got := v.Get(strings.Split(path, ".")...); string(got) != want {
			t.Errorf("Get(%s) = %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"NAME", "o.x", "e.x", "o.k.z"} {
		if got := v.Get(strings.Split(path, ".")...); got.Exists() {
			t.Errorf("Get(%s) = %s, want nothing", path, got)
		}
	}
}

func TestSetKeepsEveryOtherByte(t *testing.T) {
	tests := []struct {
		name, src, value string
		path             []string
		want             string
	}{
		{"replace", `{ "a" : 1 , "b":2.0 }`, `9`, []string{"a"}, `{ "a" : 9 , "b":2.0 }`},
		{"append", `{ "a" : 1 }`, `true`, []string{"b"}, `{ "a" : 1,"b":true }`},
		{"append to empty", `{ }`, `1`, []string{"b"}, `{"b":1 }`},
		{"create on the way", `{"x":9007199254740993}`, `[]`, []string{"_meta", "openai/ui", "entrypoints"}, `{"x":9007199254740993,"_meta":{"openai/ui":{"entrypoints":[]}}}`},
		{"nested replace", `{"r":{"t":[1],"z":"\u00e9"}}`, `[2]`, []string{"r", "t"}, `{"r":{"t":[2],"z":"\u00e9"}}`},
	}
	for _, tt := range tests {
		got, err := mustParse(t, tt.src).Set(Value(tt.value), tt.path...)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
	if _, err := mustParse(t, `{"_meta":"text"}`).Set(Value(`1`), "_meta", "k"); !errors.Is(err, ErrNotObject) {
		t.Errorf("setting through a string: got %v, want ErrNotObject", err)
	}
}

func TestDeleteTakesExactlyOneComma(t *testing.T) {
	tests := []struct {
		src  string
		path []string
		want string
	}{
		{`{"a":1,"b":2,"c":3}`, []string{"a"}, `{"b":2,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, []string{"b"}, `{"a":1,"c":3}`},
		{`{"a":1, "c":3 }`, []string{"c"}, `{"a":1 }`},
		{`{ "a" : 1 }`, []string{"a"}, `{ }`},
		{`{"a":{"x":1}}`, []string{"a", "x"}, `{"a":{}}`},
		{`{"a":1}`, []string{"z"}, `{"a":1}`},
		{`{"a":[{},"},"],"b":0}`, []string{"a"}, `{"b":0}`},
	}
	for _, tt := range tests {
		got := mustParse(t, tt.src).Delete(tt.path...)
		if _, err := Parse(got, 64); err != nil {
			t.Errorf("Delete(%s, %v) left broken JSON %s: %v", tt.src, tt.path, got, err)
		}
		if strings.TrimSpace(string(got)) != strings.TrimSpace(tt.want) && string(got) != tt.want {
			t.Errorf("Delete(%s, %v) = %s, want %s", tt.src, tt.path, got, tt.want)
		}
	}
}

func TestMapElementsReturnsTheSameBytesWhenNothingChanged(t *testing.T) {
	v := mustParse(t, `[ 1 , {"a":2} ]`)
	if got := v.MapElements(func(e Value) (Value, bool) { return e, true }); !got.Is(v) {
		t.Errorf("unchanged array was copied: %s", got)
	}
	if got := v.MapElements(func(e Value) (Value, bool) { return e, e.Kind() == Object }); string(got) != `[{"a":2}]` {
		t.Errorf("got %s", got)
	}
	if got := v.MapElements(func(Value) (Value, bool) { return nil, false }); string(got) != `[]` {
		t.Errorf("empty array is %s, want []", got)
	}
}
