package rawjson

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// referenceParse says by jsontext what Parse and ParseLenient must accept.
func referenceParse(src []byte, maxDepth int, strict bool) (value []byte, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowInvalidUTF8(!strict))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		kind := token.Kind()
		if (kind == '{' || kind == '[') && dec.StackDepth() > maxDepth {
			return nil, false
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	end := dec.InputOffset()
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	return bytes.TrimLeft(src[:end], " \t\r\n"), true
}

func checkAgainstReference(t *testing.T, src []byte) {
	t.Helper()
	for _, strict := range []bool{true, false} {
		want, ok := referenceParse(src, 16, strict)
		got, err := parse(src, 16, strict)
		if (err == nil) != ok {
			t.Fatalf("strict=%v: %q: got error %v, reference accepts: %v", strict, src, err, ok)
		}
		if ok && !bytes.Equal(got, want) {
			t.Fatalf("strict=%v: %q: got %q, want %q", strict, src, got, want)
		}
	}
}

// TestParseAcceptsWhatTheReferenceAccepts takes every text apart: cut off
// anywhere, and with every byte replaced by each of those that mean something.
func TestParseAcceptsWhatTheReferenceAccepts(t *testing.T) {
	many := `{"` + strings.Repeat("k", 30) + `":0`
	for i := range 40 {
		many += `,"` + strings.Repeat("x", i) + `":[]`
	}
	for _, src := range []string{
		many + `}`, many + `,"xxx":1}`, many + `,"\u0078xx":1}`,
		` {"a" : [1,-2.5e+10,{"b":"\u00e9\"}"}],"c":true,"d":false,"e":null} `,
		`{"n":[0,-0,1e5,1E-5,10.01,-1.5],"s":["","\b\f\n\r\t\/\\\""," ž 𝄞 \ud834\udd1e"]}`,
		`"` + strings.Repeat("over several windows ", 20) + `\n` + strings.Repeat("x", 200) + `é"`,
		`"\ud800 alone"`, `"\udc00\ud800"`, `"long string without anything special in it, over several words"`,
		`[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]`, `[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]`, "\ufeff{}", `tru`, `nul`, `truefalse`, `01`, `-`, `1.`, `1e`,
	} {
		checkAgainstReference(t, []byte(src))
		for i := range src {
			checkAgainstReference(t, []byte(src[:i]))
			for _, b := range []byte("\"\\{}[]:,0-.eEntu/\x00\x1f\x7f\x80\xc3\xff \n") {
				mutated := []byte(src)
				mutated[i] = b
				checkAgainstReference(t, mutated)
			}
		}
	}
}

// FuzzParseReference looks for texts on which this parser and jsontext differ.
func FuzzParseReference(f *testing.F) {
	for _, seed := range []string{`{}`, ` {"a" : [1,2,{"b":"\u00e9\"}"}] } `, `"\ud834\udd1e"`, `-1e5`, `[[],{}]`, `{"":{"":0}}`, "{\"\xff\":1,\"\ufffd\":2}", `{"a":1,"\u0061":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(checkAgainstReference)
}
