//go:build !race

package caddymodule

// raceEnabled makes random tests smaller under the race detector.
const raceEnabled = false
