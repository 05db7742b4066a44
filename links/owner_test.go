package links

import "testing"

func TestPluginOf(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{"codex://plugins/bits-and-bolts/app/cad.library", "bits-and-bolts", true},
		{"codex://plugins/bits-and-bolts@acme/app/cad.library", "bits-and-bolts", true},
		{"CHATGPT://plugins/bits%2Dand%2Dbolts#x", "bits-and-bolts", true},
		{"https://chatgpt.com/plugins/bits-and-bolts", "bits-and-bolts", true},
		{`https://chatgpt.com/plugins/a\b`, "a", true},
		{"codex://plugins/", "", true},
		{"codex://plugins/a%zz/app/b", "", false},
		{"https://example.com/plugins/a/app/b", "", false},
		{"", "", false},
	} {
		if got, ok := PluginOf(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("PluginOf(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}
