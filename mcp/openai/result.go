package openai

import (
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// neutralFailure is the text of a failed call where the server's own is not to
// be shown.
const neutralFailure = "The server could not complete this request."

// passed reports whether a tools/call result is no answer to check: a failure,
// which goes out as it is or with a neutral text, or a question to the user.
func (o *Overlay) passed(result rawjson.Value) (rawjson.Value, bool) {
	if kind, _ := result.Get("resultType").Text(); kind != "" && kind != "complete" {
		return result, true
	}
	if failed, _ := result.Get("isError").Bool(); !failed {
		return nil, false
	}
	if !o.results.SafeErrors {
		return result, true
	}
	out := must(result.Set(textContent(neutralFailure), "content")).Delete("structuredContent")
	login := out.Get("_meta", "mcp/www_authenticate") // the host needs it to offer a login
	out = out.Delete("_meta")
	if login.Exists() {
		out = must(out.Set(login, "_meta", "mcp/www_authenticate"))
	}
	return out, true
}

// replaceStructure puts the checked structure into a result. The content, which
// by convention repeats the structure as text, is written anew from it if the
// structure changed or if that is configured.
func (o *Overlay) replaceStructure(result, structured rawjson.Value) (rawjson.Value, error) {
	out, err := fragment(structured).inside(result, "structuredContent")
	if err != nil {
		return nil, err
	}
	if !same(out, result) && result.Get("content").Len() > 0 || o.results.RebuildContent {
		return out.Set(textContent(string(structured)), "content")
	}
	return out, nil
}

// textContent is a content list of one text.
func textContent(text string) rawjson.Value {
	return rawjson.ArrayOf(must(rawjson.Value(`{"type":"text"}`).Set(rawjson.Quote(text), "text")))
}
