package caddymodule

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// loadedConfig is a configuration that is provisioned but not started: no
// listener, no admin endpoint, no certificates asked for.
type loadedConfig struct {
	app       *caddyhttp.App
	endpoints []*Handler
	release   func()
}

// provisionConfig loads a configuration file as far as caddy validate does, for
// commands that look at its endpoints. It changes what is global in Caddy (log
// and storage), so it is for processes that do not serve. What is logged goes to
// the standard error, from WARN on, whatever the file says.
func provisionConfig(file, adapter string) (*loadedConfig, error) {
	text, err := adaptedConfig(file, adapter)
	if err != nil {
		return nil, err
	}
	var config caddy.Config
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if err := json.Unmarshal([]byte(`{"logs":{"default":{"level":"WARN"}}}`), &config.Logging); err != nil {
		return nil, err
	}
	// The apps are loaded in a context of our own, which can be ended; only the
	// HTTP app and what it asks for are needed.
	apps := config.AppsRaw
	config.AppsRaw, config.Admin = nil, nil
	base, err := caddy.ProvisionContext(&config)
	if err != nil {
		return nil, fmt.Errorf("loading the configuration: %w", err)
	}
	config.AppsRaw = apps
	ctx, cancel := caddy.NewContext(base)
	app, err := ctx.AppIfConfigured("http")
	if err != nil {
		cancel()
		return nil, fmt.Errorf("loading the configuration: %w", err)
	}
	loaded := &loadedConfig{app: app.(*caddyhttp.App), endpoints: endpointsOf(ctx.GetMetricsRegistry()), release: cancel}
	for _, m := range loaded.endpoints {
		m.sources = ruleSources(file, m)
	}
	return loaded, nil
}

// chooseEndpoint finds the endpoint that is meant by its path or its resource.
// Empty means the only one. Errors wrap errUsage.
func chooseEndpoint(list []*Handler, meant string) (*Handler, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: the configuration has no mcp_app endpoint", errUsage)
	}
	var fits []*Handler
	var names []string
	for _, m := range list {
		switch {
		case m.Resource == meant && meant != "":
			return m, nil
		case meant == "" || m.Path == meant:
			fits = append(fits, m)
		}
		name := m.Path
		if m.Resource != "" {
			name += " (" + m.Resource + ")"
		}
		names = append(names, name)
	}
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case len(fits) == 0:
		return nil, fmt.Errorf("%w: there is no endpoint %s, only %s", errUsage, visible(meant), strings.Join(names, ", "))
	default:
		return nil, fmt.Errorf("%w: there are several endpoints, say which by path or resource: %s", errUsage, strings.Join(names, ", "))
	}
}

// ruleSources finds file and line of each rule of an endpoint, nil if the file is
// no Caddyfile or does not hold the endpoint as it was loaded.
func ruleSources(file string, m *Handler) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	blocks, err := caddyfile.Parse(file, text)
	if err != nil {
		return nil
	}
	same := func(a, b policy.Rule) bool { return a.Kind == b.Kind && a.Pattern == b.Pattern }
	for _, block := range blocks {
		for _, segment := range block.Segments {
			for d := caddyfile.NewDispenser(segment); d.Next(); {
				if d.Val() != "mcp_app" {
					continue
				}
				read := new(Handler)
				if err := read.UnmarshalCaddyfile(caddyfile.NewDispenser(d.NextSegment())); err != nil || read.Policy == nil || read.Path != m.Path {
					continue
				}
				if slices.EqualFunc(read.Policy.Rules, m.Policy.Rules, same) {
					return read.sources
				}
			}
		}
	}
	return nil
}
