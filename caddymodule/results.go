package caddymodule

import (
	"strings"

	"go.uber.org/zap"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/openai"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// Result checks the answers of tools with a known meaning. What is wrong with
// one is for the log; the client gets a failed call, as if the tool had said so.
func (o *openaiView) Result(result rawjson.Value) (rawjson.Value, error) {
	return o.result(o.view.e.resultTool(), result)
}

// Task checks what a task has found or asks, like the answer of its tool.
func (o *openaiView) Task(id string, result rawjson.Value) (rawjson.Value, error) {
	tool, _ := o.view.e.toolOfTask(id)
	return o.result(tool, result)
}

func (o *openaiView) result(tool string, result rawjson.Value) (rawjson.Value, error) {
	e := o.view.e
	checked, findings, err := o.check(tool, result)
	e.warnFindings(findings)
	if err != nil {
		code := e.withheldCode(tool, result)
		if e.found == nil {
			countFindings([]openai.Finding{{Code: code}})
		}
		e.logger.Error("result withheld", zap.String("code", code), zap.String("tool", tool), zap.Error(err))
		return failedCall(result, "The answer of this tool does not fit what it is for."), nil
	}
	checked, findings = o.view.links.apply(tool, checked)
	e.warnFindings(findings)
	return checked, nil
}

// withheldCode is the id of the rule behind a withheld result.
func (e *exchange) withheldCode(tool string, result rawjson.Value) string {
	kind, _ := result.Get("resultType").Text()
	switch {
	case kind == "input_required":
		return openai.FormRefused
	case e.isSettingsRead(tool, result.Get("structuredContent")):
		return openai.SettingsRefused
	default:
		return openai.MentionsRefused
	}
}

func (o *openaiView) check(tool string, result rawjson.Value) (rawjson.Value, []openai.Finding, error) {
	e := o.view.e
	var members [3]rawjson.Value
	result.Pick([]string{"resultType", "content", "structuredContent"}, members[:])
	content, structured := members[1], members[2]
	switch {
	case members[0].TextIs("input_required"):
		checked, findings, err := e.overlay.InputRequired(result, e.formContext())
		if err == nil {
			err = e.keepAnswerable(checked)
		}
		return checked, findings, err
	case !content.Exists() && !structured.Exists():
		return result, nil, nil
	case e.isSettingsRead(tool, structured):
		checked, schema, findings, err := e.overlay.SettingsReadResult(result, e.settingsReadContext())
		if schema != nil {
			e.schemas.Put(e.holder(), schema)
		}
		return checked, findings, err
	case e.updatesSettings(tool):
		checked, findings := e.overlay.SettingsUpdateResult(result, e.settingsContext(tool))
		return checked, findings, nil
	case e.searchesMentions(tool):
		var seal func(string) string
		if handles := e.handles(); handles != nil {
			seal = handles.Seal
		}
		checked, err := e.overlay.MentionsResult(o.view.dropMentions(result), seal)
		return checked, nil, err
	default:
		return result, nil, nil
	}
}

// dropMentions leaves out mentions of resources that a rule hides from the
// caller. A handle that no rule speaks about stays: it may be one that only the
// server's tools understand.
func (v *view) dropMentions(result rawjson.Value) rawjson.Value {
	if v.e.Policy.Results == policy.Pass {
		return result
	}
	items := result.Get("structuredContent", "items")
	kept := items.MapElements(func(item rawjson.Value) (rawjson.Value, bool) {
		for _, member := range []string{"uri", "resourceUri"} {
			uri, ok := item.Get(member).Text()
			spoken := v.HasRule(policy.Resource, uri) || strings.HasPrefix(uri, "ui:")
			if ok && spoken && !v.ShowsResource(uri) {
				v.e.linkDropped(uri)
				return nil, false
			}
		}
		return item, true
	})
	if kept.Len() == items.Len() {
		return result
	}
	out, err := result.Set(kept, "structuredContent", "items")
	if err == nil {
		// By convention the content repeats the structure, with all names in it.
		text, _ := rawjson.Value(`{"type":"text"}`).Set(rawjson.Quote(string(out.Get("structuredContent"))), "text")
		out, err = out.Set(rawjson.ArrayOf(text), "content")
	}
	if err != nil { // repeated members, say: what cannot be filtered is no answer
		return nil
	}
	return out
}

// isSettingsRead tells settings from other results: by the call, and on a
// resumed stream, where the call is not known, by its shape.
func (e *exchange) isSettingsRead(tool string, structured rawjson.Value) bool {
	switch {
	case !e.hasSettings():
		return false
	case e.message != nil:
		return e.readsSettings(tool)
	default:
		return structured.Get("schema").Exists() && structured.Get("values").Exists()
	}
}

func (e *exchange) settingsReadContext() openai.SettingsContext {
	return openai.SettingsContext{Catalog: callableTools{e.view}, Modern: e.era() == mcp.Modern}
}

// toolName is the tool that was called, empty for other requests.
func (e *exchange) toolName() string {
	if e.message == nil || e.message.Method != "tools/call" {
		return ""
	}
	return e.message.Name
}

// failedCall makes a tool-execution error out of a result (MCP 2025-11-25,
// server/tools "Error Handling"), keeping what the protocol needs in one.
func failedCall(result rawjson.Value, text string) rawjson.Value {
	// Setting members of an object literal cannot fail.
	failed := rawjson.Value(`{"isError":true}`)
	content, _ := rawjson.Value(`{"type":"text"}`).Set(rawjson.Quote(text), "text")
	failed, _ = failed.Set(rawjson.ArrayOf(content), "content")
	if kind := result.Get("resultType"); kind.Exists() {
		failed, _ = failed.Set(rawjson.Value(`"complete"`), "resultType")
	}
	const server = "io.modelcontextprotocol/serverInfo"
	if info := result.Get("_meta", server); info.Exists() {
		failed, _ = failed.Set(info, "_meta", server)
	}
	return failed
}

// emptyResult is what answers of our own are made of.
func (e *exchange) emptyResult() rawjson.Value {
	if e.message.Era == mcp.Modern {
		return rawjson.Value(`{"resultType":"complete"}`)
	}
	return rawjson.Value("{}")
}

// resultMessage wraps a result of our own into the answer to this message.
func (e *exchange) resultMessage(result rawjson.Value) rawjson.Value {
	// Setting members of an object literal cannot fail.
	message, _ := rawjson.Value(`{"jsonrpc":"2.0"}`).Set(e.message.ID, "id")
	message, _ = message.Set(result, "result")
	return message
}
