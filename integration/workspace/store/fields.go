package store

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Field is one setting: what a settings page shows of it and which values it
// takes. Its JSON is the property's schema.
type Field struct {
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	Type        string   `json:"type"` // string, integer, number or boolean
	Enum        []string `json:"enum,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	MaxLength   int      `json:"maxLength,omitempty"`
	Minimum     *float64 `json:"minimum,omitempty"`
	Maximum     *float64 `json:"maximum,omitempty"`
	MultipleOf  *float64 `json:"multipleOf,omitempty"`

	initial any // the value of a person who never changed it
}

// Fields are all settings. Settings are single values, so a choice of several
// things is a switch for each of them: notifyMentions and those beside it.
var Fields = map[string]Field{
	"theme": {
		Title: "Theme", Type: "string", Enum: []string{"system", "light", "dark"}, initial: "system",
	},
	"density": {
		Title: "Density", Description: "How much room each deck takes.",
		Type: "string", Enum: []string{"comfortable", "compact"}, initial: "comfortable",
	},
	"pageSize": {
		Title: "Decks per page", Type: "integer", Minimum: new(1.0), Maximum: new(100.0), initial: 20,
	},
	"showArchived": {
		Title: "Show archived decks", Type: "boolean", initial: false,
	},
	"language": {
		Title: "Language of posts", Description: "A language tag such as en or pt-BR.",
		Type: "string", Pattern: "^[a-z]{2,3}(-[A-Z]{2})?$", MaxLength: 6, initial: "en",
	},
	"undoSeconds": {
		Title: "Seconds to undo", Description: "How long a decision can be taken back at once.",
		Type: "number", Minimum: new(0.0), Maximum: new(30.0), MultipleOf: new(0.5), initial: 5.0,
	},
	"notifyMentions":  {Title: "Mentions", Type: "boolean", initial: true},
	"notifyReplies":   {Title: "Replies", Type: "boolean", initial: true},
	"notifyProposals": {Title: "New proposals", Type: "boolean", initial: false},
}

// accept decodes a JSON value and reports whether the field takes it. The zero
// field takes nothing.
func (f Field) accept(raw json.RawMessage) (value any, ok bool) {
	if json.Unmarshal(raw, &value) != nil {
		return nil, false
	}

	switch v := value.(type) {
	case bool:
		return v, f.Type == "boolean"
	case string:
		return v, f.Type == "string" && f.acceptText(v)
	case float64:
		// JSON Schema calls 20.0 an integer, and JSON does not tell it from 20.
		switch {
		case f.Type != "integer" && f.Type != "number", v < *f.Minimum, v > *f.Maximum:
			return nil, false
		case f.Type == "integer":
			return int(v), v == math.Trunc(v)
		default:
			return v, f.MultipleOf == nil || math.Mod(v, *f.MultipleOf) == 0
		}
	}

	return nil, false
}

func (f Field) acceptText(text string) bool {
	switch {
	case f.Enum != nil:
		return slices.Contains(f.Enum, text)
	case f.MaxLength > 0 && utf8.RuneCountInString(text) > f.MaxLength:
		return false
	default:
		matched, err := regexp.MatchString(f.Pattern, text)

		return err == nil && matched
	}
}
