package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/caddyserver/caddy/v2/caddyconfig"
)

// configuredPlugin is the plugin that links { plugin } of an endpoint names.
type configuredPlugin struct {
	Plugin      string `json:"plugin"`
	Marketplace string `json:"marketplace"`
}

// readConfiguredPlugin takes the plugin out of a configuration file. Without an
// endpoint the file must have one only that names a plugin.
func readConfiguredPlugin(file, adapter, endpoint string) (configuredPlugin, error) {
	text, err := adaptedConfig(file, adapter)
	if err != nil {
		return configuredPlugin{}, err
	}
	var config any
	if err := json.Unmarshal(text, &config); err != nil {
		return configuredPlugin{}, fmt.Errorf("reading the configuration: %w", err)
	}
	found := make(map[configuredPlugin]bool)
	collectPlugins(config, endpoint, found)
	if len(found) > 1 {
		return configuredPlugin{}, errors.New("the configuration names several plugins; say which with --endpoint <path>, or --plugin")
	}
	for plugin := range found {
		return plugin, nil
	}
	return configuredPlugin{}, errors.New("the configuration names no plugin; write links { plugin <id> }, or say --plugin")
}

// adaptedConfig reads a configuration file as JSON. Without an adapter a file that
// does not end in .json is a Caddyfile.
func adaptedConfig(file, adapter string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if adapter == "" && filepath.Ext(file) != ".json" {
		adapter = "caddyfile"
	}
	if adapter == "" {
		return text, nil
	}
	known := caddyconfig.GetAdapter(adapter)
	if known == nil {
		return nil, fmt.Errorf("unknown config adapter %q", adapter)
	}
	if text, _, err = known.Adapt(text, map[string]any{"filename": file}); err != nil {
		return nil, fmt.Errorf("adapting the configuration: %w", err)
	}
	return text, nil
}

// collectPlugins looks for the handler wherever it may be nested.
func collectPlugins(config any, endpoint string, found map[configuredPlugin]bool) {
	switch v := config.(type) {
	case []any:
		for _, element := range v {
			collectPlugins(element, endpoint, found)
		}
	case map[string]any:
		if v["handler"] == "mcp_app" && (endpoint == "" || v["path"] == endpoint) {
			links, _ := v["links"].(map[string]any)
			id, _ := links["plugin"].(string)
			marketplace, _ := links["marketplace"].(string)
			if id != "" {
				found[configuredPlugin{id, marketplace}] = true
			}
		}
		for _, member := range v {
			collectPlugins(member, endpoint, found)
		}
	}
}
