package flight

import (
	"crypto/sha256"
	"strconv"
)

// Key identifies one question: who is asked, as whom, with which headers. It is
// a hash, so that no token or name stays in memory.
type Key [sha256.Size]byte

// KeyOf hashes lists so that no other lists give the same bytes.
func KeyOf(lists ...[]string) Key {
	var usual [512]byte // keeps the text of most keys off the heap
	text := usual[:0]
	for _, list := range lists {
		text = append(strconv.AppendInt(text, int64(len(list)), 10), ':')
		for _, s := range list {
			text = append(strconv.AppendInt(text, int64(len(s)), 10), ':')
			text = append(text, s...)
		}
	}
	return sha256.Sum256(text)
}
