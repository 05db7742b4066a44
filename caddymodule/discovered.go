package caddymodule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/discovery"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai/hosted"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Where a list comes from.
const (
	fromServer = "server"
	fromOpenAI = "openai"
)

// discovered is the result of caddy mcp-app discover as --json prints it.
type discovered struct {
	Source    string            `json:"source"` // server or openai
	URL       string            `json:"url,omitempty"`
	Era       string            `json:"era,omitempty"`
	Version   string            `json:"protocolVersion,omitempty"`
	NotModern string            `json:"notModern,omitempty"` // why the older era was spoken
	Server    *discoveredServer `json:"server,omitempty"`
	Tools     []json.RawMessage `json:"tools"`
	Prompts   []json.RawMessage `json:"prompts,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"`
	Templates []json.RawMessage `json:"resourceTemplates,omitempty"`

	InputTokens int                   `json:"inputTokens,omitempty"`
	Requests    []discoveredRequest   `json:"requests,omitempty"`
	Missing     []string              `json:"missing,omitempty"` // allowed tools that are not offered
	Diff        *discovery.Difference `json:"diff,omitempty"`
	Note        string                `json:"note,omitempty"`
	Failure     *discoveredFailure    `json:"failure,omitempty"`

	toolsComplete bool
}

type discoveredServer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// discoveredRequest is the evidence of one request.
type discoveredRequest struct {
	Method      string `json:"method"`
	Era         string `json:"era"`
	Status      int    `json:"status"`
	ContentType string `json:"contentType,omitempty"`
	Bytes       int    `json:"bytes"`
	FirstByteMS int64  `json:"firstByteMs"`
	TotalMS     int64  `json:"totalMs"`
	Failure     string `json:"failure,omitempty"`
}

type discoveredFailure struct {
	Class  discovery.Class `json:"class"`
	Text   string          `json:"text"`
	Advice string          `json:"advice"`
	During string          `json:"during,omitempty"`
	Status int             `json:"status,omitempty"`
	Code   int             `json:"code,omitempty"`
}

func describe(e *discovery.Error) *discoveredFailure {
	return &discoveredFailure{e.Class, e.Error(), e.Class.Advice(), e.During, e.Status, e.Code}
}

// discoveredDirectly takes over a report, without the secrets a server may have
// written into what it lists.
func discoveredDirectly(report *discovery.Report, secrets []string) *discovered {
	raw := func(list []rawjson.Value) []json.RawMessage {
		out := make([]json.RawMessage, len(list))
		for i, v := range list {
			out[i] = json.RawMessage(withoutSecrets(v, secrets))
		}
		return out
	}
	clean := func(text string) string { return discovery.Clean(text, discovery.MaxText, secrets) }
	d := &discovered{Source: fromServer, Tools: []json.RawMessage{}}
	if report == nil {
		return d
	}
	d.URL, d.Tools, d.Prompts = report.URL, raw(report.Tools), raw(report.Prompts)
	d.Resources, d.Templates = raw(report.Resources), raw(report.Templates)
	d.toolsComplete = report.ToolsComplete
	if report.NotModern != nil {
		d.NotModern = report.NotModern.Error()
	}
	if report.Handshake.Exists() {
		d.Era, d.Version = report.Era.String(), clean(report.Version)
		name, version := report.Server()
		d.Server = &discoveredServer{clean(name), clean(version)}
	}
	for _, step := range report.Steps {
		method := step.RPC
		if method == "" {
			method = step.Method
		}
		d.Requests = append(d.Requests, discoveredRequest{
			method, step.Era.String(), step.Status, clean(step.ContentType()), step.Bytes,
			step.FirstByte.Milliseconds(), step.Total.Milliseconds(), string(step.Failure),
		})
	}
	return d
}

func discoveredByOpenAI(check hosted.Check, catalog *hosted.Catalog) *discovered {
	d := &discovered{Source: fromOpenAI, Tools: []json.RawMessage{}}
	target := discovery.Target{URL: check.ServerURL, Token: check.Token, Header: check.Header}
	if check.ServerURL != "" {
		d.URL = target.Shown()
	}
	if catalog == nil {
		return d
	}
	for _, tool := range catalog.Tools {
		d.Tools = append(d.Tools, json.RawMessage(withoutSecrets(tool, append(target.Secrets(), check.Key))))
	}
	d.InputTokens, d.Note = catalog.InputTokens, catalog.Note
	return d
}

// minRedacted is the length from which a secret is replaced in declarations:
// shorter ones would tear words of the declarations apart.
const minRedacted = 8

// withoutSecrets replaces secrets inside the strings of a JSON text.
func withoutSecrets(v rawjson.Value, secrets []string) []byte {
	text := bytes.Clone(v)
	for _, secret := range secrets {
		quoted := rawjson.Quote(secret)
		inner := quoted[1 : len(quoted)-1]
		if len(inner) < minRedacted || !bytes.Contains(text, inner) {
			continue
		}
		var out []byte
		for i := 0; i < len(text); {
			end := i + 1
			if text[i] == '"' {
				for ; text[end] != '"'; end++ {
					if text[end] == '\\' {
						end++
					}
				}
				end++
			}
			out = append(out, bytes.ReplaceAll(text[i:end], inner, []byte("[redacted]"))...)
			i = end
		}
		text = out
	}
	return text
}

// maxEarlier bounds the file of an earlier result, in bytes.
const maxEarlier = 64 << 20

// readDiscovered reads an earlier result.
func readDiscovered(file string) (*discovered, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--diff: %w", err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(io.LimitReader(in, maxEarlier+1))
	if err != nil {
		return nil, fmt.Errorf("--diff: %w", err)
	}
	var d discovered
	if len(text) > maxEarlier || json.Unmarshal(text, &d) != nil || d.Source == "" || d.Tools == nil {
		return nil, fmt.Errorf("--diff: %s is not what discover --json prints", file)
	}
	if d.Failure != nil {
		return nil, fmt.Errorf("--diff: %s is the result of a discovery that failed", file)
	}
	for _, tool := range d.Tools {
		if _, err := rawjson.ParseLenient(tool, mcp.DefaultDepth); err != nil {
			return nil, fmt.Errorf("--diff: %s holds a tool that cannot be read", file)
		}
	}
	return &d, nil
}

// compare tells what changed since an earlier result. OpenAI tells about names,
// descriptions and input schemas only.
func (d *discovered) compare(earlier *discovered) *discovery.Difference {
	var only []string
	if d.Source != earlier.Source {
		only = []string{"description", "inputSchema"}
	}
	difference := discovery.Compare(earlier.values(), d.values(), only)
	return &difference
}

func (d *discovered) values() []rawjson.Value {
	values := make([]rawjson.Value, len(d.Tools))
	for i, tool := range d.Tools {
		values[i] = rawjson.Value(bytes.TrimSpace(tool))
	}
	return values
}

// filter keeps the tools of interest.
func (d *discovered) filter(keeps func(discoveredTool) bool) {
	d.Tools = slices.DeleteFunc(d.Tools, func(tool json.RawMessage) bool { return !keeps(discoveredTool{rawjson.Value(tool)}) })
}

// missing lists which of some tools are not offered.
func (d *discovered) missing(wanted []string) []string {
	var missing []string
	for _, name := range wanted {
		name = strings.TrimSpace(name)
		if !slices.ContainsFunc(d.Tools, func(tool json.RawMessage) bool { return discoveredTool{rawjson.Value(tool)}.name() == name }) {
			missing = append(missing, name)
		}
	}
	return missing
}
