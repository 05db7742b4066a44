package page

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxPage is the largest page, in bytes, that gets the client.
const maxPage = 8 << 20

// document is the HTML of a content item.
type document struct {
	html []byte
	blob bool // it stands there in base64
}

// read takes the HTML out of an item.
func read(item rawjson.Value) (d document, err error) {
	text, blob := item.Get("text"), item.Get("blob")
	switch {
	case text.Kind() == rawjson.String && !blob.Exists():
		d = document{html: unescape(text)}
	case blob.Kind() == rawjson.String && !text.Exists():
		encoded, _ := blob.Text()
		d.blob = true
		if d.html, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return d, errors.New("its blob is not base64")
		}
		if bytes.HasPrefix(d.html, []byte{0xFE, 0xFF}) || bytes.HasPrefix(d.html, []byte{0xFF, 0xFE}) {
			return d, errors.New("it is encoded in UTF-16")
		}
	default:
		return d, errors.New("it has not exactly one of text and blob")
	}
	if len(d.html) > maxPage {
		return d, fmt.Errorf("it is larger than %d bytes", maxPage)
	}
	return d, nil
}

// insert returns the item with s, which is plain ASCII, at offset at of its HTML.
// A text keeps all its bytes, the way its characters are escaped included.
func (d document) insert(item rawjson.Value, at int, s string) rawjson.Value {
	name, value := "text", rawjson.Value(nil)
	if d.blob {
		name, value = "blob", rawjson.Quote(base64.StdEncoding.EncodeToString(slices.Insert(d.html, at, []byte(s)...)))
	} else {
		text, quoted := item.Get("text"), rawjson.Quote(s)
		at = escapedOffset(text, at)
		value = slices.Concat(text[:at], quoted[1:len(quoted)-1], text[at:])
	}
	item, err := item.Set(value, name)
	if err != nil {
		panic("page: an item with an address that is no object: " + err.Error())
	}
	return item
}

// unescape decodes a JSON string. Unlike [rawjson.Value.Text] it keeps bytes that
// are not UTF-8, so that offsets can be traced back by [escapedOffset].
func unescape(quoted rawjson.Value) []byte {
	out := make([]byte, 0, len(quoted))
	for rest := quoted[1 : len(quoted)-1]; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			return append(out, rest...)
		}
		out = append(out, rest[:i]...)
		r, size := escaped(rest[i:])
		out = utf8.AppendRune(out, r)
		rest = rest[i+size:]
	}
	return out
}

// escapedOffset returns where in a JSON string the nth byte of its decoded form
// begins.
func escapedOffset(quoted rawjson.Value, n int) int {
	i := 1
	for n > 0 {
		if quoted[i] != '\\' {
			n--
			i++
			continue
		}
		r, size := escaped(quoted[i:])
		n -= utf8.RuneLen(r)
		i += size
	}
	return i
}

// escaped decodes the escape sequence that checked JSON begins with, and tells
// its length. Half a surrogate pair is U+FFFD.
func escaped(s []byte) (r rune, size int) {
	if s[1] != 'u' {
		if i := bytes.IndexByte([]byte("bfnrt"), s[1]); i >= 0 {
			return rune("\b\f\n\r\t"[i]), 2
		}
		return rune(s[1]), 2
	}
	r = codeUnit(s)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, codeUnit(s[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func codeUnit(s []byte) rune {
	n, _ := strconv.ParseUint(string(s[2:6]), 16, 16) // four digits, as was checked
	return rune(n)
}
