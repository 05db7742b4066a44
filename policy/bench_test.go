package policy

import (
	"fmt"
	"testing"
)

// BenchmarkDecide asks for one tool, with more and more rules.
func BenchmarkDecide(b *testing.B) {
	for _, rules := range []int{5, 50, 500, 5000} {
		b.Run(fmt.Sprintf("rules_%d", rules), func(b *testing.B) {
			var c Config
			for i := range rules {
				c.Rules = append(c.Rules, Rule{Kind: Tool, Pattern: fmt.Sprintf("group%d.*", i), Scopes: []string{"read"}})
			}
			pol, err := Compile(c)
			if err != nil {
				b.Fatal(err)
			}
			v := pol.View(&Principal{Issuer: "i", Subject: "s", Scopes: []string{"use", "read"}})
			b.ReportAllocs()
			for b.Loop() {
				if v.Decide(Tool, "group3.tool").Verdict != Allowed {
					b.Fatal("hidden")
				}
			}
		})
	}
}
