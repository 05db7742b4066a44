package caddymodule

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/doctor"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
)

func init() {
	adminRoutes = append(adminRoutes, caddy.AdminRoute{
		Pattern: "/mcp_app/findings", Handler: caddy.AdminHandlerFunc(adminAPI{}.handleFindings),
	})
}

// endpointFindings is what is known to be wrong with one endpoint.
type endpointFindings struct {
	Endpoint string `json:"endpoint"`
	Resource string `json:"resource,omitempty"`
	// Findings are those of the running configuration: what it gives away by
	// itself, and what answers have shown since it was loaded.
	Findings []doctor.Finding `json:"findings"`
}

func (adminAPI) handleFindings(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return methodNotAllowed(w, r, "GET")
	}
	_, list := runningEndpoints()
	meant := r.URL.Query().Get("endpoint")
	found := make([]endpointFindings, 0, len(list))
	for _, m := range list {
		if meant != "" && m.Path != meant && m.Resource != meant {
			continue
		}
		report := doctor.NewReport()
		m.examineConfig(report)
		report.AddOpenAI(m.warned.noted()...)
		report.Worst(openai.Note)
		report.Complete()
		found = append(found, endpointFindings{Endpoint: m.Path, Resource: m.Resource, Findings: report.Findings})
	}
	return writeAdmin(w, http.StatusOK, map[string]any{"endpoints": found})
}
