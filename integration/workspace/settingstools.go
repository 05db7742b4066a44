package workspace

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/workspace/store"
)

// settingsSchema is the schema of all settings as settings.read returns it.
type settingsSchema struct {
	Type       string                 `json:"type"`
	Properties map[string]store.Field `json:"properties"`
	Required   []string               `json:"required"`
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
	Properties: store.Fields,
	Required:   slices.Sorted(maps.Keys(store.Fields)),
}

var settingsLayout = []layoutGroup{
	{Kind: "group", Title: "Appearance", Items: []layoutItem{
		{Kind: "property", Property: "theme"},
		{Kind: "property", Property: "density"},
	}},
	{Kind: "group", Title: "Decks", Items: []layoutItem{
		{Kind: "property", Property: "pageSize"},
		{Kind: "property", Property: "showArchived"},
	}},
	{Kind: "group", Title: "Activities", Items: []layoutItem{
		{Kind: "property", Property: "language"},
		{Kind: "property", Property: "undoSeconds"},
		{Kind: "tool", Tool: "workspace.tray", Title: "Show activities", Description: "Opens the activities that wait for a decision."},
	}},
	{Kind: "group", Title: "Tell me about", Items: []layoutItem{
		{Kind: "property", Property: "notifyMentions"},
		{Kind: "property", Property: "notifyReplies"},
		{Kind: "property", Property: "notifyProposals"},
	}},
}

var (
	schemaSettings = object([]property{
		{"schema", anyObject}, {"values", anyObject}, {"layout", array(json.RawMessage(anyObject), "")},
	})
	schemaValues = object([]property{{"values", anyObject}})
)

type (
	settingsResult struct {
		Schema settingsSchema `json:"schema"`
		Values store.Values   `json:"values"`
		Layout []layoutGroup  `json:"layout"`
	}
	updateArguments struct {
		Set map[string]json.RawMessage `json:"set"`
	}
	valuesResult struct {
		Values store.Values `json:"values"`
	}
)

func (s *Server) addSettingsTools() {
	add(s, "GET /api/settings", &mcp.Tool{
		Name:         "settings.read",
		Title:        "Read settings",
		Description:  "Returns the settings of the person asking: which there are, their values, and how to lay them out.",
		Annotations:  readOnly(),
		InputSchema:  schemaNothing,
		OutputSchema: schemaSettings,
	}, func(ctx context.Context, who store.Caller, _ nothing) (settingsResult, error) {
		if _, err := who.Person(); err != nil {
			return settingsResult{}, err
		}

		v, err := s.store.Settings(ctx, who)

		return settingsResult{theSettingsSchema, v, settingsLayout}, err
	})

	add(s, "PUT /api/settings", &mcp.Tool{
		Name:         "settings.update",
		Title:        "Update settings",
		Description:  "Changes the named settings of the person asking, all or none, and returns all values.",
		Annotations:  writing(),
		InputSchema:  updateSchema(),
		OutputSchema: schemaValues,
	}, func(ctx context.Context, who store.Caller, in updateArguments) (valuesResult, error) {
		v, err := s.store.UpdateSettings(ctx, who, in.Set)

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
				"properties":           store.Fields,
				"minProperties":        1,
				"additionalProperties": false,
			},
		},
		"required":             []string{"set"},
		"additionalProperties": false,
	}
}
