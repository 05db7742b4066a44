package rawjson

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Pick finds several members of an object in one pass: to[i] becomes the member
// called names[i], nil if there is none. to must be as long as names, which
// must be lower or mixed case ASCII.
//
// It also returns a member whose name differs from one of names only in case,
// empty if there is none: some readers fold case, and would take it for the
// member that is meant. For any kind but an object nothing is found.
func (v Value) Pick(names []string, to []Value) (variant string) {
	clear(to)
	for m := range v.spans() {
		i, folded := indexOf(names, v[m.start:m.nameEnd])
		switch {
		case i >= 0 && !folded:
			to[i] = v[m.value:m.end]
		case i >= 0 && variant == "":
			variant, _ = v[m.start:m.nameEnd].Text()
		}
	}
	return variant
}

// indexOf looks for a quoted name among plain ones, first as it is and then
// without regard to case.
func indexOf(names []string, quoted Value) (i int, folded bool) {
	inner := []byte(quoted[1 : len(quoted)-1])
	for _, b := range inner {
		if b == '\\' || b >= utf8.RuneSelf {
			return indexOfText(names, quoted)
		}
	}
	near := -1
	for i, name := range names {
		if len(name) != len(inner) {
			continue
		}
		if string(inner) == name {
			return i, false
		}
		if near < 0 && inner[0]|0x20 == name[0]|0x20 && bytes.EqualFold(inner, []byte(name)) {
			near = i
		}
	}
	return near, true
}

// indexOfText does the same for names with escapes, or with letters that fold
// to ASCII although they are none, such as the Kelvin sign.
func indexOfText(names []string, quoted Value) (i int, folded bool) {
	text, _ := quoted.Text()
	near := -1
	for i, name := range names {
		if text == name {
			return i, false
		}
		if near < 0 && strings.EqualFold(text, name) {
			near = i
		}
	}
	return near, true
}
