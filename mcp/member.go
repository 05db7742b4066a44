package mcp

import (
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Members that the gateway or an upstream reads by name. A member that differs
// from one of these only in case is refused: some JSON readers fold case, and
// then the policy would judge one value and the upstream run another. Members
// whose values are needed come first, in the order of the struct they go to.
var (
	envelopeMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsMembers   = []string{
		"name", "uri", "taskId", "ref", "_meta", "notifications",
		"arguments", "cursor", "argument", "context", "protocolVersion", "capabilities", "clientInfo", "level",
		"requestId", "task", "inputResponses", "requestState",
	}
	metaMembers = []string{
		"io.modelcontextprotocol/protocolVersion", "progressToken", "io.modelcontextprotocol/clientInfo",
		"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel", "openai/resource",
		relatedTaskMember,
	}
	refMembers    = []string{"type", "name", "uri"}
	listenMembers = []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions", "taskIds"}
)

// envelope holds the members of a JSON-RPC message.
type envelope struct{ version, id, method, params, result, failure rawjson.Value }

// openEnvelope reads a message in one pass. variant is a member that differs
// from a known one only in case, empty if there is none.
func openEnvelope(v rawjson.Value) (e envelope, variant string) {
	var m [6]rawjson.Value
	variant = v.Pick(envelopeMembers, m[:])
	return envelope{m[0], m[1], m[2], m[3], m[4], m[5]}, variant
}

// parameters holds what decides about a request.
type parameters struct {
	name, uri, taskID, ref, meta rawjson.Value
	arguments                    rawjson.Value
	version                      rawjson.Value // of the protocol, in _meta
	task                         bool          // there is a member that may name a task
}

// openParameters reads params, and what is in them, in one pass each.
func openParameters(params rawjson.Value) (p parameters, variant string) {
	var m [18]rawjson.Value
	variant = params.Pick(paramsMembers, m[:])
	p = parameters{name: m[0], uri: m[1], taskID: m[2], ref: m[3], meta: m[4], arguments: m[6]}
	var inner [7]rawjson.Value
	for _, object := range []struct {
		value rawjson.Value
		known []string
	}{{m[3], refMembers}, {m[5], listenMembers}, {m[4], metaMembers}} {
		if found := object.value.Pick(object.known, inner[:len(object.known)]); variant == "" {
			variant = found
		}
	}
	p.version = inner[0]
	p.task = p.taskID.Exists() || m[15].Exists() || inner[6].Exists() // task, relatedTaskMember
	return p, variant
}

// The members of results that decide what a client takes them for, the lists
// first.
const (
	toolsMember = iota
	promptsMember
	resourcesMember
	resourceTemplatesMember
	contentsMember
	contentMember
	messagesMember
	capabilitiesMember
	nextCursorMember
	protocolVersionMember
	supportedVersionsMember
	resultTypeMember
	ttlMsMember
	cacheScopeMember
	countOfMembers
)

var resultMembers = []string{
	"tools", "prompts", "resources", "resourceTemplates", "contents", "content", "messages", "capabilities", "nextCursor",
	"protocolVersion", "supportedVersions", "resultType", "ttlMs", "cacheScope",
}

// resultValues holds those members of one result.
type resultValues [countOfMembers]rawjson.Value

// openResult reads a result in one pass. variant is a member that differs from
// a known one only in case, empty if there is none.
func openResult(result rawjson.Value) (m resultValues, variant string) {
	variant = result.Pick(resultMembers, m[:])
	return m, variant
}

// isHandshake tells results of initialize and server/discover from results that
// merely have a member called capabilities.
func (m *resultValues) isHandshake() bool {
	return m[protocolVersionMember].Exists() || m[supportedVersionsMember].Exists()
}
