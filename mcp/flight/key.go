package flight

import (
	"crypto/sha256"
	"fmt"
)

// Key identifies one question: who is asked, as whom, with which headers. It is
// a hash, so that no token or name stays in memory.
type Key [sha256.Size]byte

// KeyOf hashes lists so that no other lists give the same bytes.
func KeyOf(lists ...[]string) Key {
	h := sha256.New()
	for _, list := range lists {
		fmt.Fprintf(h, "%d:", len(list))
		for _, s := range list {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	return Key(h.Sum(nil))
}
