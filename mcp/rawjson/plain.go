package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// A text that has gone on for longRun bytes is searched in windows, which grow
// while nothing is found: most strings are short, and most bytes are in long
// ones. What was searched in vain is in proportion to what was read, so that no
// text costs more than its length.
const (
	longRun     = 64
	firstWindow = 256
	maxWindow   = 4096
)

// plainRun returns the offset of the first byte from i on that ends a string or
// needs a closer look: a quote, a backslash, a control character, a byte beyond
// ASCII, or the end of the text.
func plainRun(src []byte, i int) int {
	if end := i + longRun; end < len(src) {
		if i = plainWords(src[:end], i); i < end {
			return i
		}
		for size := firstWindow; ; {
			window := src[i:min(i+size, len(src))]
			plain := window
			// These two are vector searches.
			if at := bytes.IndexByte(plain, '"'); at >= 0 {
				plain = plain[:at]
			}
			if at := bytes.IndexByte(plain, '\\'); at >= 0 {
				plain = plain[:at]
			}
			if !printable(plain) {
				break
			}
			if i += len(plain); len(plain) < len(window) || i == len(src) {
				return i
			}
			size = min(2*size, maxWindow)
		}
	}
	return plainWords(src, i)
}

// plainWords is plainRun by words of eight bytes.
func plainWords(src []byte, i int) int {
	for ; i+8 <= len(src); i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		// A byte of each term has its high bit set where x has such a byte. A
		// borrow can set it in a later byte by mistake, never in an earlier one,
		// so that the lowest is always right.
		quote, escape := x^(ones*'"'), x^(ones*'\\')
		found := ((quote - ones) &^ quote) | ((escape - ones) &^ escape) | ((x - ones*0x20) &^ x) | x
		if found &= highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(src) && src[i] >= 0x20 && src[i] != '"' && src[i] != '\\' && src[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// printable reports whether text has neither control characters nor bytes beyond
// ASCII in it.
func printable(text []byte) bool {
	// A byte below 0x20 borrows, one above 0x7f has its high bit; where there is
	// neither, nothing is carried into other bytes.
	for len(text) >= 32 {
		a, b := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
		c, d := binary.LittleEndian.Uint64(text[16:]), binary.LittleEndian.Uint64(text[24:])
		if ((a-ones*0x20)|a|(b-ones*0x20)|b|(c-ones*0x20)|c|(d-ones*0x20)|d)&highs != 0 {
			return false
		}
		text = text[32:]
	}
	for _, c := range text {
		if c < 0x20 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
