package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// literals keeps numbers as written.
var literals = Reader{MaxDepth: 3, Number: func(literal string) (any, error) { return json.Number(literal), nil }}

func TestOneValueIsRead(t *testing.T) {
	const text = ` {"a":[1.50,true,null,{}],"é":"\u00e9"} `
	want := map[string]any{"a": []any{json.Number("1.50"), true, nil, map[string]any{}}, "é": "é"}
	got, err := literals.Object([]byte(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := literals.Value([]byte(`[]`)); err != nil || !reflect.DeepEqual(got, []any{}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatTwoReadersMightReadDifferentlyIsRefused(t *testing.T) {
	for text, want := range map[string]error{
		`{"a":1,"a":1}`:            ErrMalformed,
		`{"x":{"a":1,"\u0061":2}}`: ErrMalformed,
		"{\"a\":\"\xff\"}":         ErrMalformed,
		`{"a":"\ud800"}`:           ErrMalformed,
		"\ufeff{}":                 ErrMalformed,
		`{"a":1}}`:                 ErrNotOne,
		`{} {}`:                    ErrNotOne,
		`{"a":`:                    ErrMalformed,
		`{"a":1,}`:                 ErrMalformed,
		`{"a":01}`:                 ErrMalformed,
		`{'a':1}`:                  ErrMalformed,
		``:                         ErrMalformed,
		`[]`:                       ErrNotObject,
		`"a"`:                      ErrNotObject,
		`null`:                     ErrNotObject,
		`{"a":[{"b":[]}]}`:         ErrTooDeep,
		`{"a":[{"b":{}}]}`:         ErrTooDeep,
	} {
		got, err := literals.Object([]byte(text))
		if !errors.Is(err, want) || got != nil {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestErrorsDoNotQuote(t *testing.T) {
	for _, text := range []string{`{"secret":1,"secret":2}`, `{"a":secret}`, `{"secret`, `{"a":1} secret`} {
		if _, err := literals.Object([]byte(text)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestErrorsOfNumbersAreReturned(t *testing.T) {
	mine := errors.New("no numbers")
	reader := Reader{MaxDepth: 9, Number: func(string) (any, error) { return nil, mine }}
	if _, err := reader.Value([]byte(`[{"a":1}]`)); !errors.Is(err, mine) {
		t.Error(err)
	}
}

func FuzzValue(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\u00e9",{}],"b":null}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	reader := Reader{MaxDepth: 64, Number: literals.Number}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := string(text)
		got, err := reader.Value(text)
		if string(text) != before {
			t.Fatal("the text was changed")
		}
		if err != nil {
			return
		}
		var want any
		decoder := json.NewDecoder(strings.NewReader(before))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %v, encoding/json reads %v, %v", text, got, want, err)
		}
	})
}
