package workspace

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// settingsSchema is the schema of all settings as settings.read returns it.
type settingsSchema struct {
	Type       string           `json:"type"`
	Properties map[string]field `json:"properties"`
	Required   []string         `json:"required"`
}

// layoutGroup is a titled group of a settings page, in the order shown.
type layoutGroup struct {
	Kind  string       `json:"kind"` // group
	Title string       `json:"title"`
	Items []layoutItem `json:"items"`
}

// layoutItem is a setting or a tool offered beside the settings.
type layoutItem struct {
	Kind        string `json:"kind"` // property or tool
	Property    string `json:"property,omitempty"`
	Tool        string `json:"tool,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

var theSettingsSchema = settingsSchema{
	Type:       "object",
	Properties: fields,
	Required:   []string{"theme", "density", "pageSize", "showArchived"},
}

var settingsLayout = []layoutGroup{
	{Kind: "group", Title: "Appearance", Items: []layoutItem{
		{Kind: "property", Property: "theme"},
		{Kind: "property", Property: "density"},
	}},
	{Kind: "group", Title: "Decks", Items: []layoutItem{
		{Kind: "property", Property: "pageSize"},
		{Kind: "property", Property: "showArchived"},
		{Kind: "tool", Tool: "workspace.tray", Title: "Show recent decks", Description: "Opens the decks made last."},
	}},
}

var schemaSettings = json.RawMessage(`{"type":"object",` +
	`"properties":{"schema":{"type":"object"},"values":{"type":"object"},` +
	`"layout":{"type":"array","items":{"type":"object"}}},"required":["schema","values","layout"]}`)

var schemaValues = json.RawMessage(`{"type":"object",` +
	`"properties":{"values":{"type":"object"}},"required":["values"]}`)

type (
	settingsResult struct {
		Schema settingsSchema `json:"schema"`
		Values values         `json:"values"`
		Layout []layoutGroup  `json:"layout"`
	}
	updateArguments struct {
		Set map[string]json.RawMessage `json:"set"`
	}
	valuesResult struct {
		Values values `json:"values"`
	}
)

func (s *Server) addSettingsTools() {
	addTool(s, &mcp.Tool{
		Name:         "settings.read",
		Title:        "Read settings",
		Description:  "Returns the settings of the person asking: which there are, their values, and how to lay them out.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaSettings,
	}, func(ctx context.Context, who caller, _ nothing) (settingsResult, error) {
		who, err := who.person()
		if err != nil {
			return settingsResult{}, err
		}

		v, err := s.store.settings(ctx, who)

		return settingsResult{theSettingsSchema, v, settingsLayout}, err
	})

	addTool(s, &mcp.Tool{
		Name:         "settings.update",
		Title:        "Update settings",
		Description:  "Changes the named settings of the person asking, all or none, and returns all values.",
		Annotations:  writing(),
		InputSchema:  updateSchema(),
		OutputSchema: schemaValues,
	}, func(ctx context.Context, who caller, in updateArguments) (valuesResult, error) {
		who, err := who.person()
		if err != nil {
			return valuesResult{}, err
		}

		v, err := s.store.updateSettings(ctx, who, in.Set)

		return valuesResult{v}, err
	})
}

// updateSchema is the input of settings.update: some of the fields, at least one.
func updateSchema() any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"set": map[string]any{
				"type":                 "object",
				"description":          "Only the settings to change",
				"properties":           fields,
				"minProperties":        1,
				"additionalProperties": false,
			},
		},
		"required":             []string{"set"},
		"additionalProperties": false,
	}
}
