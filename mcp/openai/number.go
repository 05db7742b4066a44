package openai

import (
	"math"
	"math/big"
	"strconv"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// maxNumberText bounds the text of a number, because exact arithmetic costs by
// its length.
const maxNumberText = 64

// number is a JSON number as a host sees it (a float64) and as it was written.
type number struct {
	float float64
	text  string
}

// parseNumber reads a JSON number that a float64 can hold.
func parseNumber(v rawjson.Value) (number, bool) {
	if v.Kind() != rawjson.Number || len(v) > maxNumberText {
		return number{}, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return number{f, string(v)}, err == nil
}

// integral reports whether n is an integer that JavaScript can tell from its
// neighbours.
func (n number) integral() bool {
	return n.float == math.Trunc(n.float) && math.Abs(n.float) <= 1<<53-1
}

// multipleOf reports whether n is a multiple of m, which is positive. Decimal
// texts are taken exactly, so 0.7 is a multiple of 0.1; what a program computed
// in floats may be off by four units in the last place. A quotient beyond the
// integers of a float64 is never a multiple: there, every number would be one.
func (n number) multipleOf(m number) bool {
	quotient := n.float / m.float
	if math.IsNaN(quotient) || math.Abs(quotient) > 1<<53 {
		return false
	}
	if math.Abs(quotient) < 1e9 && math.Abs(quotient-math.Round(quotient)) <= 4*0x1p-52*math.Max(1, math.Abs(quotient)) {
		return math.Round(quotient) != 0 || n.float == 0
	}
	x, ok1 := new(big.Rat).SetString(n.text)
	y, ok2 := new(big.Rat).SetString(m.text)
	return ok1 && ok2 && y.Sign() > 0 && x.Quo(x, y).IsInt()
}

// smallInt reads a JSON integer written as plain digits, such as a length.
func smallInt(v rawjson.Value) (int, bool) {
	if v.Kind() != rawjson.Number || len(v) > 10 {
		return 0, false
	}
	n, err := strconv.Atoi(string(v))
	return n, err == nil && n >= 0
}
