package openai

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

func (r Requests) check() error {
	var errs []error
	if r.ResourcePath != "" && r.ResourcePath != "strip" && r.ResourcePath != "pass" {
		errs = append(errs, fmt.Errorf("resource_path %q: write strip or pass", r.ResourcePath))
	}
	if r.UserLocation != "" && r.UserLocation != "strip" && r.UserLocation != "pass" {
		errs = append(errs, fmt.Errorf("user_location %q: write strip or pass", r.UserLocation))
	}
	return errors.Join(errs...)
}

// RequestParams takes out of the params of a request what the server is not to
// believe or not to know, and leaves every other byte. A path that passes must
// be a string. (Extensions, Filesystem Access; Apps SDK reference, client metadata.)
func (o *Overlay) RequestParams(params rawjson.Value) (rawjson.Value, error) {
	resource := params.Get("_meta", "openai/resource")
	if path := resource.Get("path"); path.Exists() {
		if o.requests.ResourcePath != "pass" {
			params = params.Delete("_meta", "openai/resource", "path")
		} else if path.Kind() != rawjson.String {
			return nil, errors.New(`_meta["openai/resource"].path must be a string`)
		}
	}
	if o.requests.UserLocation == "strip" {
		params = params.Delete("_meta", "openai/userLocation")
	}
	return params, nil
}
