package rawjson

import (
	"bytes"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// checker reads a text once, from left to right, and keeps nothing of it but
// the member names of the objects that are open.
//
// Every message passes here twice on its way, so this decides what the gateway
// costs: strings are read eight bytes at a time, and names are compared in
// place. jsontext, which says what is allowed, is the reference of the tests.
type checker struct {
	src      []byte
	maxDepth int
	strict   bool
	names    [][]byte // of all open objects, the innermost last
}

var checkers = sync.Pool{New: func() any { return new(checker) }}

// maxKeptNames bounds the memory that a checker takes back into the pool.
const maxKeptNames = 1024

func (c *checker) release() {
	if cap(c.names) > maxKeptNames {
		c.names = nil
	}
	clear(c.names[:cap(c.names)])
	c.src, c.names = nil, c.names[:0]
	checkers.Put(c)
}

// space returns the offset of the first byte from i on that is not white space.
func (c *checker) space(i int) int {
	for i < len(c.src) && isSpace(c.src[i]) {
		i++
	}
	return i
}

// value checks the value that begins at i, inside depth containers, and returns
// the offset behind it.
func (c *checker) value(i, depth int) (int, error) {
	if i >= len(c.src) {
		return 0, ended()
	}
	switch b := c.src[i]; {
	case b == '"':
		end, _, err := c.text(i)
		return end, err
	case b == '{' || b == '[':
		if depth >= c.maxDepth {
			return 0, fmt.Errorf("%w: more than %d levels", ErrTooDeep, c.maxDepth)
		}
		if b == '{' {
			return c.object(i, depth+1)
		}
		return c.array(i, depth+1)
	case b == '-' || b >= '0' && b <= '9':
		return c.number(i)
	case b == 't':
		return c.literal(i, "true")
	case b == 'f':
		return c.literal(i, "false")
	case b == 'n':
		return c.literal(i, "null")
	default:
		return 0, syntaxError("no JSON value", i)
	}
}

func (c *checker) object(i, depth int) (int, error) {
	first := len(c.names)
	var many map[string]struct{} // once there are too many names to compare one by one
	if i = c.space(i + 1); i < len(c.src) && c.src[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(c.src) {
			return 0, ended()
		}
		if c.src[i] != '"' {
			return 0, syntaxError("no member name", i)
		}
		end, plain, err := c.text(i)
		if err != nil {
			return 0, err
		}
		name := c.src[i+1 : end-1]
		if !plain {
			// Two spellings of one name are the same to a client.
			name, _ = jsontext.AppendUnquote(nil, c.src[i:end])
		}
		if many, err = c.add(name, first, many, i); err != nil {
			return 0, err
		}
		if i = c.space(end); i >= len(c.src) {
			return 0, ended()
		}
		if c.src[i] != ':' {
			return 0, syntaxError("no colon behind a member name", i)
		}
		if i, err = c.value(c.space(i+1), depth); err != nil {
			return 0, err
		}
		if i = c.space(i); i >= len(c.src) {
			return 0, ended()
		}
		switch c.src[i] {
		case ',':
			i = c.space(i + 1)
		case '}':
			c.names = c.names[:first]
			return i + 1, nil
		default:
			return 0, syntaxError("no comma behind a member", i)
		}
	}
}

// fewNames are compared one by one, which is faster than a map up to about here.
const fewNames = 24

// add takes a member name of the object whose names begin at first.
func (c *checker) add(name []byte, first int, many map[string]struct{}, at int) (map[string]struct{}, error) {
	known := c.names[first:]
	switch {
	case many != nil:
		if _, repeated := many[string(name)]; repeated {
			return nil, syntaxError("repeated member name", at)
		}
		many[string(name)] = struct{}{}
		return many, nil
	case len(known) == fewNames:
		many = make(map[string]struct{}, 4*fewNames)
		for _, earlier := range known {
			many[string(earlier)] = struct{}{}
		}
		return c.add(name, first, many, at)
	}
	for _, earlier := range known {
		if len(earlier) == len(name) && bytes.Equal(earlier, name) {
			return nil, syntaxError("repeated member name", at)
		}
	}
	c.names = append(c.names, name)
	return nil, nil
}

func (c *checker) array(i, depth int) (int, error) {
	if i = c.space(i + 1); i < len(c.src) && c.src[i] == ']' {
		return i + 1, nil
	}
	for {
		end, err := c.value(i, depth)
		if err != nil {
			return 0, err
		}
		if i = c.space(end); i >= len(c.src) {
			return 0, ended()
		}
		switch c.src[i] {
		case ',':
			i = c.space(i + 1)
		case ']':
			return i + 1, nil
		default:
			return 0, syntaxError("no comma behind an element", i)
		}
	}
}

func (c *checker) literal(i int, want string) (int, error) {
	if rest := c.src[i:]; len(rest) < len(want) || string(rest[:len(want)]) != want {
		return 0, syntaxError("no JSON value", i)
	}
	return i + len(want), nil
}

// number checks the grammar of RFC 8259 §6.
func (c *checker) number(i int) (int, error) {
	start := i
	if c.src[i] == '-' {
		i++
	}
	digits := func() bool {
		first := i
		for i < len(c.src) && c.src[i] >= '0' && c.src[i] <= '9' {
			i++
		}
		return i > first
	}
	if i < len(c.src) && c.src[i] == '0' {
		i++
	} else if !digits() {
		return 0, syntaxError("bad number", start)
	}
	if i < len(c.src) && c.src[i] == '.' {
		if i++; !digits() {
			return 0, syntaxError("bad number", start)
		}
	}
	if i < len(c.src) && (c.src[i] == 'e' || c.src[i] == 'E') {
		if i++; i < len(c.src) && (c.src[i] == '+' || c.src[i] == '-') {
			i++
		}
		if !digits() {
			return 0, syntaxError("bad number", start)
		}
	}
	return i, nil
}

// text checks the string that begins at i, and reports whether its bytes are
// what it means: no escapes, only ASCII.
func (c *checker) text(i int) (end int, plain bool, err error) {
	start := i
	plain = true
	for i++; ; {
		if i = plainRun(c.src, i); i >= len(c.src) {
			return 0, false, ended()
		}
		switch b := c.src[i]; {
		case b == '"':
			return i + 1, plain, nil
		case b == '\\':
			plain = false
			if i, err = c.escape(i); err != nil {
				return 0, false, err
			}
		case b >= utf8.RuneSelf:
			plain = false
			r, size := utf8.DecodeRune(c.src[i:])
			if r == utf8.RuneError && size == 1 && c.strict {
				return 0, false, syntaxError("bytes that are not UTF-8", i)
			}
			i += size
		default:
			return 0, false, syntaxError("control character in the string", start)
		}
	}
}

// escape checks the escape that begins at i and returns the offset behind it.
func (c *checker) escape(i int) (int, error) {
	if i+1 >= len(c.src) {
		return 0, ended()
	}
	switch c.src[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
		unit, err := c.codeUnit(i)
		if err != nil {
			return 0, err
		}
		if !c.strict || unit < 0xd800 || unit > 0xdfff {
			return i + 6, nil
		}
		// RFC 7493 §2.1: a high surrogate goes with a low one, in this order.
		if unit < 0xdc00 && i+7 < len(c.src) && c.src[i+6] == '\\' && c.src[i+7] == 'u' {
			low, err := c.codeUnit(i + 6)
			if err != nil {
				return 0, err
			}
			if low >= 0xdc00 && low <= 0xdfff {
				return i + 12, nil
			}
		}
		return 0, syntaxError("unpaired surrogate", i)
	default:
		return 0, syntaxError("unknown escape", i)
	}
}

// codeUnit reads the four digits of \uXXXX at i.
func (c *checker) codeUnit(i int) (unit uint32, err error) {
	if i+6 > len(c.src) {
		return 0, ended()
	}
	for _, b := range c.src[i+2 : i+6] {
		switch {
		case b >= '0' && b <= '9':
			unit = unit<<4 | uint32(b-'0')
		case b >= 'a' && b <= 'f':
			unit = unit<<4 | uint32(b-'a'+10)
		case b >= 'A' && b <= 'F':
			unit = unit<<4 | uint32(b-'A'+10)
		default:
			return 0, syntaxError("bad \\u escape", i)
		}
	}
	return unit, nil
}
