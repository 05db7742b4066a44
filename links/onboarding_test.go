package links

import (
	"strings"
	"testing"
)

func TestCheckOnboardingSkillShowsTheFault(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		in   string
		want fault
	}{
		{"", fault{"skill", 0, "./skills/"}},
		{"skills/a/SKILL.md", fault{"skill", 0, "./skills/"}},
		{"./skills/a/SKILL.md ", fault{"skill", 11, "/SKILL.md"}},
		{"./skills/a/b/", fault{"skill", 13, "/SKILL.md"}},
		{"./skills//SKILL.md", fault{"skill", 9, "folder"}},
		{"./skills/a/../SKILL.md", fault{"skill", 11, "folder"}},
		{"./skills/a/./SKILL.md", fault{"skill", 11, "folder"}},
		{"./skills/a./SKILL.md", fault{"skill", 9, "folder"}},
		{"./skills/ a/SKILL.md", fault{"skill", 9, "folder"}},
		{`./skills/a\b/SKILL.md`, fault{"skill", 10, "U+005C"}},
		{"./skills/C:/SKILL.md", fault{"skill", 10, "U+003A"}},
		{"./skills/a\x00/SKILL.md", fault{"skill", 10, "control"}},
		{"./skills/a\u202E/SKILL.md", fault{"skill", 10, "bidirectional"}},
		{"./skills/\xFF/SKILL.md", fault{"skill", 9, "UTF-8"}},
		{"./skills/" + strings.Repeat("a", 512) + "/SKILL.md", fault{"skill", 512, "512 bytes"}},
	} {
		wantFault(t, CheckOnboardingSkill(tt.in), tt.want)
	}

	for _, in := range []string{"./skills/a/b/SKILL.md", "./skills/Über uns/SKILL.md", "./skills/.hidden/SKILL.md"} {
		if err := CheckOnboardingSkill(in); err != nil {
			t.Errorf("CheckOnboardingSkill(%q): %v", in, err)
		}
	}
}
