package openai

import "fmt"

// The revisions of the extensions that are known by name.
const (
	Spec02      = "0.2"
	SpecE314720 = "e314720"
)

// Difference is one way in which the two revisions disagree.
type Difference struct {
	Rule    string // short name
	E314720 bool   // whether the rule holds in revision e314720
	V02     bool   // whether it holds in 0.2
	Meaning string // the rule, in one sentence
}

// Differences lists everything in which the revisions differ for a gateway. The
// code asks this table and nothing else.
func Differences() []Difference { return append([]Difference(nil), differences...) }

var differences = []Difference{
	mentionsCapability: {
		Rule: "mentions.capability", E314720: false, V02: true,
		Meaning: "mentions are advertised as the server capability openai/mentions, not by a marker on the search tool",
	},
	layoutToolTitle: {
		Rule: "settings.layout.tool.title", E314720: true, V02: false,
		Meaning: "a tool item in the settings layout must carry a title, and it is the one shown",
	},
	preferenceNarrows: {
		Rule: "display.preference.narrows", E314720: true, V02: false,
		Meaning: "a preferred display mode without a list of modes makes it the only mode",
	},
	settingsEntrypoint: {
		Rule: "entrypoint.settings", E314720: true, V02: false,
		Meaning: "the entrypoint type settings is still known, though deprecated",
	},
	multiRoundForms: {
		Rule: "forms.multi_round", E314720: false, V02: true,
		Meaning: "a form may be asked for in an input_required result, not only by openai/elicitation/create",
	},
}

// Rows of the table.
const (
	mentionsCapability = iota
	layoutToolTitle
	preferenceNarrows
	settingsEntrypoint
	multiRoundForms
)

// revision is a column of the table.
type revision string

func parseRevision(name string) (revision, error) {
	switch name {
	case "", Spec02:
		return Spec02, nil
	case SpecE314720:
		return SpecE314720, nil
	default:
		return "", fmt.Errorf("unknown spec %q: write spec %s or spec %s", name, Spec02, SpecE314720)
	}
}

// has reports whether a rule of the table holds in this revision.
func (r revision) has(rule int) bool {
	if r == SpecE314720 {
		return differences[rule].E314720
	}
	return differences[rule].V02
}
