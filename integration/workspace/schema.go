package workspace

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/relay"
	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// Schemas are read by many hosts, in many languages, and one that a host cannot
// read may cost the whole catalog. So they use little: types, bounds, enums, plain
// patterns. What those cannot say is said in words and checked by the store.

// nothing is the input of tools that take no arguments.
type nothing struct{}

// schemaNothing accepts {} and nothing else.
var schemaNothing = object(nil)

// property is a member of an object. A name with a question mark behind it may
// be absent.
type property struct {
	name   string
	schema string
}

// object is the schema of an object with the given members and no others.
func object(members []property) json.RawMessage {
	properties, required := []string{}, []string{}
	for _, m := range members {
		name, optional := strings.CutSuffix(m.name, "?")
		properties = append(properties, fmt.Sprintf("%q:%s", name, m.schema))
		if !optional {
			required = append(required, fmt.Sprintf("%q", name))
		}
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if len(required) > 0 {
		schema += `,"required":[` + strings.Join(required, ",") + `]`
	}

	return json.RawMessage(schema + `,"additionalProperties":false}`)
}

func array(items json.RawMessage, bounds string) string {
	return `{"type":"array","items":` + string(items) + bounds + `}`
}

// text is a string of a length in characters.
func text(description string, least, most int) string {
	return fmt.Sprintf(`{"type":"string","description":%q,"minLength":%d,"maxLength":%d}`, description, least, most)
}

func one(kind, description string) string {
	return fmt.Sprintf(`{"type":%q,"description":%q}`, kind, description)
}

// Parts of many schemas.
const (
	anyText   = `{"type":"string"}`
	anyNumber = `{"type":"integer"}`
	yesOrNo   = `{"type":"boolean"}`
	anyObject = `{"type":"object","additionalProperties":true}`

	expectedDeck = `{"type":"integer","description":"The revision of the deck that you read last","minimum":1}`
)

var (
	texts = array(json.RawMessage(anyText), "")

	inDeckID       = text("Id of a deck, as list_decks gives it", 1, 64)
	inConnectionID = text("Id of a connection, as list_connections gives it", 1, 64)
	inCursor       = text("The nextCursor of the page before, for the same source and account; absent for the newest", 0, 512)

	// The rule of hashtags needs letters of all scripts, which no pattern says in
	// every language. So it is told in words.
	inHashtags = array(json.RawMessage(text("A hashtag without the #: letters of any script, digits and underscores, at least one of them a letter", 1, 50)),
		fmt.Sprintf(`,"maxItems":%d`, store.MaxHashtags))

	schemaSource = object([]property{
		{"kind", fmt.Sprintf(`{"type":"string","enum":[%q,%q,%q,%q]}`, relay.Home, relay.Public, relay.List, relay.Hashtag)},
		{"value?", text("For list the id that list_lists gives, for hashtag the name without the #; absent for home and public", 0, 64)},
	})

	schemaDeckSummary = object(deckMembers)
	schemaDeck        = object(append(deckMembers, property{"columns", array(object([]property{
		{"id", anyText},
		{"title", anyText},
		{"connectionId", anyText},
		{"source", string(schemaSource)},
	}), "")}))

	deckMembers = []property{
		{"id", anyText},
		{"title", anyText},
		{"archived", yesOrNo},
		{"created", one("string", "When it was made, RFC 3339")},
		{"revision", one("integer", "Counts the changes of the deck")},
	}
)

// resolve prepares a schema. Schemas are ours, so a bad one is a bug.
func resolve(schema any) *jsonschema.Resolved {
	raw, err := json.Marshal(schema)
	if err != nil {
		panic("workspace: a schema: " + err.Error())
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &parsed); err != nil {
		panic("workspace: a schema: " + err.Error())
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		panic("workspace: a schema: " + err.Error())
	}

	return resolved
}

// validate checks JSON against a schema.
func validate(schema *jsonschema.Resolved, text json.RawMessage) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("not readable as JSON: %w", err)
	}

	return schema.Validate(value)
}
