package policy

import "testing"

// What was worked out for a caller must not be taken for what the same caller
// gets under a registration.
func TestAViewOfAFewToolsShowsThemOnlyAndHasNoKey(t *testing.T) {
	rules, err := Compile(Config{Rules: []Rule{{Kind: Tool, Pattern: "*"}, {Kind: Prompt, Pattern: "*"}, {Kind: Resource, Pattern: "*"}, {Kind: Tool, Pattern: "secret", Deny: true}}})
	if err != nil {
		t.Fatal(err)
	}
	whole := rules.View(&Principal{Subject: "alice"})
	if _, ok := whole.Key(); !ok {
		t.Error("the whole view has no key")
	}
	for name, v := range map[string]*View{"a view": whole.Within([]string{"a", "secret"}), "its copy": whole.Within([]string{"a", "secret"}).With(nil, nil), "of another": whole.Within([]string{"a", "secret"}).As(&Principal{Subject: "bob"})} {
		if _, ok := v.Key(); ok || v.HidesNothing() {
			t.Errorf("%s may be taken for the whole one", name)
		}
		for tool, want := range map[string]bool{"a": true, "b": false, "secret": false} {
			if v.Shows(Tool, tool) != want || (v.DecideCall(tool, nil).Verdict == Allowed) != want {
				t.Errorf("%s: %s is not as it should be", name, tool)
			}
		}
		if v.Shows(Prompt, "p") || v.Shows(Resource, "file:///x") || v.Shows(Resource, "ui://x") || v.Decide(Method, "tools/list").Verdict != Allowed {
			t.Errorf("%s: other names than tools", name)
		}
	}
	if none := whole.Within(nil); none.Shows(Tool, "a") {
		t.Error("no tools are taken for all")
	}
}
