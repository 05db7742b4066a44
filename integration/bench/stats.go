package main

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// quantile returns the smallest of sorted values that at least the share q of
// them does not exceed; zero for none.
func quantile[T time.Duration | float64](sorted []T, q float64) T {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// spread is a figure over several rounds.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// MarshalJSON writes null for what was not measured: JSON has no NaN.
func (s spread) MarshalJSON() ([]byte, error) {
	if math.IsNaN(s.Median) {
		return []byte("null"), nil
	}
	type plain spread
	return json.Marshal(plain(s))
}

// spreadOf leaves out what is not a number, which stands for "not measured".
func spreadOf(values []float64) spread {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(known) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(known)
	middle := known[len(known)/2]
	if len(known)%2 == 0 {
		middle = (known[len(known)/2-1] + middle) / 2
	}
	return spread{middle, known[0], known[len(known)-1]}
}
