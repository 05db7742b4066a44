package openai

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Bounds of metadata that no configuration changes.
const (
	maxMetadataEntries = 1024 // of one array
	maxMetadataMembers = 256  // of one object
)

// ErrTooLarge is wrapped by errors about a message that goes over a limit.
var ErrTooLarge = errors.New("too large")

// Metadata reads one JSON value under the limits of extension metadata: its
// serialized size, its depth, at most 1,024 entries of an array and 256 members
// of an object, and no member name that changes objects in JavaScript, which is
// where all of this ends up.
func (l Limits) Metadata(src []byte) (rawjson.Value, error) {
	l = l.withDefaults()
	if len(src) > l.MetadataBytes {
		return nil, fmt.Errorf("%w: %d bytes of metadata, at most %d are allowed", ErrTooLarge, len(src), l.MetadataBytes)
	}
	v, err := rawjson.Parse(src, l.MetadataDepth)
	if err != nil {
		return nil, err
	}
	return v, checkInert(v)
}

// checkMetadata holds a part of a message to the same limits.
func (l Limits) checkMetadata(v rawjson.Value) error {
	if err := l.checkSize(v); err != nil {
		return err
	}
	return checkInert(v)
}

// checkSize is the part of checkMetadata that does not look at names.
func (l Limits) checkSize(v rawjson.Value) error {
	if len(v) > l.MetadataBytes {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, len(v), l.MetadataBytes)
	}
	if depth(v) > l.MetadataDepth {
		return fmt.Errorf("%w: more than %d levels", rawjson.ErrTooDeep, l.MetadataDepth)
	}
	return nil
}

// checkInert checks names and counts.
func checkInert(v rawjson.Value) error {
	switch v.Kind() {
	case rawjson.Object:
		members := 0
		for name, member := range v.Members() {
			switch name {
			case "__proto__", "constructor", "prototype":
				return fmt.Errorf("the member name %q is not allowed", name)
			}
			if members++; members > maxMetadataMembers {
				return fmt.Errorf("%w: an object has more than %d members", ErrTooLarge, maxMetadataMembers)
			}
			if err := checkInert(member); err != nil {
				return err
			}
		}
	case rawjson.Array:
		entries := 0
		for element := range v.Elements() {
			if entries++; entries > maxMetadataEntries {
				return fmt.Errorf("%w: an array has more than %d entries", ErrTooLarge, maxMetadataEntries)
			}
			if err := checkInert(element); err != nil {
				return err
			}
		}
	}
	return nil
}

// depth counts the levels of objects and arrays; a plain value has none.
func depth(v rawjson.Value) int {
	level, deepest := 0, 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		case '"':
			for i++; v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}
