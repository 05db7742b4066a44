package interop

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// TestServerAnswersAtRandom does what [TestServerAnswersOddly] does with answers
// made at random. MCP_APP_ROUNDS sets how many, MCP_APP_SEED repeats a run.
func TestServerAnswersAtRandom(t *testing.T) {
	setting := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		return must(strconv.ParseUint(text, 10, 64))(t)
	}
	rounds := setting("MCP_APP_ROUNDS", 2000)
	seed := setting("MCP_APP_SEED", uint64(time.Now().UnixNano()))
	t.Logf("MCP_APP_SEED=%d", seed)
	o := startOdd(t)
	random := generator{rand.New(rand.NewPCG(seed, 0))}
	var asked []answer
	var got []recording
	var dangerous, shows int
	for range rounds {
		a, request := random.answer(), pick(random, requests...)
		recorded := o.get(t, a, request)
		if found := judge(t, a, request, recorded); found > 0 {
			shows++
		}
		if len(hidden(lenientReader(a.direct()))) > 0 {
			dangerous++
		}
		asked, got = append(asked, a), append(got, recorded)
	}
	judgeInJS(t, asked, got)
	t.Logf("%d answers: %d show something hidden to those who ask the server, %d show something after the gateway", rounds, dangerous, shows)
	// Otherwise the answers, or the readers, have become too tame to prove anything.
	if rounds >= 1000 && (dangerous < int(rounds)/4 || shows < int(rounds)/40) {
		t.Error("too few answers had something to hide or to show")
	}
}
