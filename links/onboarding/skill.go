package onboarding

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The limits of hosts for what the front matter says, in characters.
const (
	maxSkillName        = 64
	maxSkillDescription = 1024
)

// Skill is what a skill says of itself.
type Skill struct {
	Path        string `json:"path"` // as it is declared
	Name        string `json:"name"`
	Description string `json:"description"`
}

// readSkill reads the front matter of a SKILL.md: YAML between two lines of
// three hyphens, the first of which begins the file. A host skips a skill whose
// front matter lacks a name or a description.
func readSkill(file string, content []byte) (Skill, []Finding) {
	at := func(detail, fix string) []Finding { return []Finding{{file, detail, fix}} }

	if !utf8.Valid(content) {
		return Skill{}, at("is not UTF-8", "save it as UTF-8")
	}

	matter, ok := frontMatter(content)
	if !ok {
		return Skill{}, at("has no front matter", "begin the file with a line ---, then name: and description:, then another line ---")
	}

	var fields map[string]yaml.Node
	if err := yaml.Unmarshal(matter, &fields); err != nil {
		return Skill{}, at("has front matter that is no YAML: "+oneLine(err.Error()), "put quotes around values that hold a colon")
	}

	var (
		skill    Skill
		findings []Finding
	)

	for _, f := range []struct {
		name  string
		limit int
		into  *string
	}{
		{"name", maxSkillName, &skill.Name},
		{"description", maxSkillDescription, &skill.Description},
	} {
		node, ok := fields[f.name]
		value := strings.Join(strings.Fields(node.Value), " ")

		switch {
		case !ok, node.ShortTag() == "!!str" && value == "", node.ShortTag() == "!!null":
			findings = append(findings, Finding{file, "says no " + f.name, "add " + f.name + ": to the front matter"})
		case node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str":
			findings = append(findings, Finding{file, "has a " + f.name + " that is no text", "put quotes around it"})
		case utf8.RuneCountInString(value) > f.limit:
			findings = append(findings, Finding{file, fmt.Sprintf("has a %s of more than %d characters", f.name, f.limit), "make it shorter"})
		default:
			*f.into = value
		}
	}

	return skill, findings
}

// frontMatter returns what stands between the first line and the next line of
// three hyphens.
func frontMatter(content []byte) ([]byte, bool) {
	var matter []byte

	for i, line := range bytes.SplitAfter(content, []byte("\n")) {
		fence := string(bytes.TrimRight(line, " \t\r\n")) == "---"

		switch {
		case i == 0 && !fence:
			return nil, false
		case i > 0 && fence:
			return matter, true
		case i > 0:
			matter = append(matter, line...)
		}
	}

	return nil, false
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
