package e2e

import (
	"bytes"
	"testing"
)

// What became of a list is remembered, since servers repeat themselves. Nobody
// may notice that but by the clock.
func TestARepeatedListStaysTheCallersOwn(t *testing.T) {
	everywhere(t, example(t), func(t *testing.T, g *gateway, era string) {
		people := []person{editor("acme"), viewer("acme"), editor("globex")}
		var callers []*caller
		for _, p := range people {
			callers = append(callers, g.caller(t, era, p))
		}
		first := make([][]byte, len(people))
		for round := range 4 {
			for i, c := range callers {
				got := c.call(t, "tools/list", "", nil).message
				switch {
				case round == 0:
					first[i] = got
				case !bytes.Equal(got, first[i]):
					t.Errorf("round %d: %s of %s gets\n%s\nand got before\n%s", round, people[i].subject, people[i].tenant, got, first[i])
				}
			}
		}
		if bytes.Equal(first[0], first[1]) {
			t.Error("editor and viewer see the same: this proves nothing")
		}
	})
}
