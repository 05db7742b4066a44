package caddymodule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

func init() {
	adminRoutes = append(
		adminRoutes,
		caddy.AdminRoute{Pattern: "/mcp_app/explain", Handler: caddy.AdminHandlerFunc(adminAPI{}.handleExplain)},
		caddy.AdminRoute{Pattern: "/mcp_app/catalog", Handler: caddy.AdminHandlerFunc(adminAPI{}.handleCatalog)},
	)
}

// explainRequest is the body of /mcp_app/explain and /mcp_app/catalog. Tokens are
// kept for the time of the request and are not logged.
type explainRequest struct {
	Endpoint string         `json:"endpoint"`
	Token    string         `json:"token"`
	Claims   jsontext.Value `json:"claims"`
	Tenant   string         `json:"tenant"`
	Host     string         `json:"host"`
	Tool     string         `json:"tool"`
	Refresh  bool           `json:"refresh"`
}

// maxToken is the longest token that is accepted anywhere, in bytes.
const maxToken = 16 << 10

func (adminAPI) handleExplain(w http.ResponseWriter, r *http.Request) error {
	return inspecting(w, r, func(ctx context.Context, m *Handler, app *caddyhttp.App, request explainRequest) (any, *explanation, error) {
		x, err := m.explain(ctx, app, request.input(), request.Tool)
		if err == nil && request.Tool != "" {
			x.keepTool(request.Tool)
		}
		return x, x, err
	})
}

func (adminAPI) handleCatalog(w http.ResponseWriter, r *http.Request) error {
	return inspecting(w, r, func(ctx context.Context, m *Handler, app *caddyhttp.App, request explainRequest) (any, *explanation, error) {
		shown, err := m.shownCatalog(ctx, app, request.input())
		if err != nil {
			return nil, nil, err
		}
		return shown, shown.explanation, nil
	})
}

// inspecting reads the request, runs it and writes the result.
func inspecting(w http.ResponseWriter, r *http.Request, run func(context.Context, *Handler, *caddyhttp.App, explainRequest) (any, *explanation, error)) error {
	if r.Method != http.MethodPost {
		return methodNotAllowed(w, r, "POST")
	}
	body, err := readAdmin(w, r)
	if err != nil {
		return err
	}
	bad := func(err error) error { return caddy.APIError{HTTPStatus: http.StatusBadRequest, Err: err} }
	var request explainRequest
	if err := jsonv2.Unmarshal(body, &request, jsonv2.RejectUnknownMembers(true)); err != nil {
		// The error of the reader may quote what it read, a token perhaps.
		return bad(errors.New("the body is not an object of endpoint, token or claims, tenant, host, tool and refresh"))
	}
	if request.Claims.Kind() == 'n' { // as good as none
		request.Claims = nil
	}
	if err := request.check(); err != nil {
		return bad(err)
	}
	running, list := runningEndpoints()
	m, err := chooseEndpoint(list, request.Endpoint)
	if err != nil {
		return caddy.APIError{HTTPStatus: http.StatusNotFound, Err: err}
	}
	app, ok := httpApp(running)
	if !ok {
		return caddy.APIError{HTTPStatus: http.StatusServiceUnavailable, Err: errors.New("no HTTP app is running")}
	}
	noDeadline(w)
	ctx, cancel := context.WithTimeout(r.Context(), inventoryTimeout)
	defer cancel()
	defer context.AfterFunc(running, cancel)()
	result, x, err := run(ctx, m, app, request)
	if err != nil {
		return bad(err)
	}
	caddy.Log().Named("admin.api.mcp_app").Info("principal explained",
		zap.String("path", r.URL.Path), zap.String("endpoint", m.Path), zap.String("by", x.Principal.By),
		zap.String("issuer", loggable(x.Principal.Issuer)), zap.String("subject", loggable(x.Principal.Subject)),
		zap.String("tenant", loggable(x.Principal.Tenant)), zap.String("remote_addr", r.RemoteAddr))
	return writeAdmin(w, http.StatusOK, result)
}

// noDeadline lifts the time within which Caddy's admin endpoint expects requests
// to end: it would cut an answer that is waited for.
func noDeadline(w http.ResponseWriter) {
	// An error only means that there is no deadline to lift.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

func (request explainRequest) check() error {
	switch {
	case request.Token != "" && len(request.Claims) > 0:
		return errors.New("give a token or claims, not both")
	case len(request.Token) > maxToken:
		return fmt.Errorf("the token is longer than %d bytes", maxToken)
	case len(request.Claims) > 0 && request.Claims.Kind() != '{':
		return errors.New("claims must be an object")
	}
	_, err := checkedBearer(request.Token, "token")
	return err
}

func (request explainRequest) input() inspectionInput {
	return inspectionInput{
		Token: request.Token, Claims: request.Claims, Tenant: request.Tenant, Host: request.Host, Refresh: request.Refresh,
	}
}

// shownCatalog is a catalog as one principal sees it, and what is hidden from it.
type shownCatalog struct {
	*explanation

	// Tools replace those of the explanation: only what is shown, with all that
	// the principal's client gets to see.
	Tools []shownTool `json:"tools"`
	// Hidden are all names that are not shown, by kind.
	Hidden map[policy.Kind][]explainedName `json:"hidden"`
}

type shownTool struct {
	explainedName

	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	Hints        json.RawMessage `json:"hints,omitempty"`
	Entrypoints  json.RawMessage `json:"entrypoints,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	UIResources  []string        `json:"ui_resources"`
	// Declaration is the whole tool, as it leaves the gateway.
	Declaration json.RawMessage `json:"declaration"`
}

// shownCatalog looks at the endpoint as one principal. Errors are those of
// inspect.
func (m *Handler) shownCatalog(ctx context.Context, app *caddyhttp.App, input inspectionInput) (*shownCatalog, error) {
	shown := &shownCatalog{explanation: &explanation{Endpoint: m.Path, Address: m.publicURL(app, input)}, Tools: []shownTool{}, Hidden: make(map[policy.Kind][]explainedName)}
	x := shown.explanation
	input.build = func(in *inspection) {
		x.fill(in, "")
		if in.failure == nil {
			shown.fillTools(in)
		}
	}
	in, err := m.inspect(ctx, app, input)
	if err != nil {
		return nil, err
	}
	if in.e == nil {
		x.refuse(in)
	}
	for kind, list := range map[policy.Kind]*[]explainedName{
		policy.Tool: &x.Tools, policy.Prompt: &x.Prompts, policy.Resource: &x.Resources, policy.Template: &x.Templates,
	} {
		visible := []explainedName{}
		hidden := []explainedName{}
		for _, name := range *list {
			if name.Visible {
				visible = append(visible, name)
			} else {
				hidden = append(hidden, name)
			}
		}
		*list, shown.Hidden[kind] = visible, hidden
	}
	x.complete()
	return shown, nil
}

func (s *shownCatalog) fillTools(in *inspection) {
	explained := make(map[string]explainedName)
	for _, tool := range s.explanation.Tools {
		explained[tool.Name] = tool
	}
	tools, _ := in.decorated()
	for _, tool := range tools {
		name, _ := tool.Get("name").Text()
		shown := shownTool{
			explainedName: explained[name], Hints: json.RawMessage(tool.Get("annotations")),
			Entrypoints: json.RawMessage(tool.Get("_meta", "openai/ui", "entrypoints")),
			InputSchema: json.RawMessage(tool.Get("inputSchema")), OutputSchema: json.RawMessage(tool.Get("outputSchema")),
			UIResources: mcp.UIResources(tool), Declaration: json.RawMessage(tool),
		}
		shown.Title, _ = tool.Get("title").Text()
		shown.Description, _ = tool.Get("description").Text()
		orEmpty(&shown.UIResources)
		s.Tools = append(s.Tools, shown)
	}
}
