package oneline

import "testing"

func TestOneLineReadsTheSameEverywhere(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "auth0|5f7c8ec7": true, "zoë@example.com": true, "山田": true, "עדי": true, "👩‍🚀": true, "{env.HOME}": true,
		"a\nb": false, "a\r": false, "a\x00": false, "a\tb": false, "a\x7f": false, "a\u0085": false,
		"a\u2028b": false, "a\u2029b": false, "a\u202eb": false, "a\u2066b": false, "\u200fa": false, "\u061ca": false,
	} {
		if got := Is(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
