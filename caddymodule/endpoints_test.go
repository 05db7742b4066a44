package caddymodule

import (
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// TestAnEndpointIsListedAsLongAsItIsLoaded, under its own configuration only.
func TestAnEndpointIsListedAsLongAsItIsLoaded(t *testing.T) {
	ctx := newConfiguration(t, t.TempDir()).Context
	other := newConfiguration(t, t.TempDir()).Context
	m := new(Handler)
	if err := m.UnmarshalCaddyfile(caddyfile.NewTestDispenser("mcp_app /mcp {\n" + sealKey + open + "}")); err != nil {
		t.Fatal(err)
	}
	if err := m.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	if list := endpointsOf(ctx.GetMetricsRegistry()); len(list) != 1 || list[0] != m {
		t.Errorf("listed %v", list)
	}
	if list := endpointsOf(other.GetMetricsRegistry()); len(list) != 0 {
		t.Errorf("listed under another configuration: %v", list)
	}
	if err := m.Cleanup(); err != nil {
		t.Fatal(err)
	}
	if list := endpointsOf(ctx.GetMetricsRegistry()); len(list) != 0 {
		t.Errorf("listed after cleanup: %v", list)
	}
}
