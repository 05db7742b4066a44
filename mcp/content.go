package mcp

import (
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// filterContent removes links to hidden resources, and the resources
// themselves, from what a tool or a prompt answers (`content` of a tools/call
// result, `messages[].content` of a prompts/get result). Free text is not
// judged.
func (w *Rewriter) filterContent(result rawjson.Value, m *resultValues) (rawjson.Value, error) {
	if !w.Content {
		return result, nil
	}
	content := m[contentMember]
	result, err := replaceIfChanged(result, content, content.MapElements(w.contentBlock), "content")
	if err != nil {
		return nil, err
	}
	messages := m[messagesMember]
	return replaceIfChanged(result, messages, messages.MapElements(func(message rawjson.Value) (rawjson.Value, bool) {
		block := message.Get("content")
		if block.Kind() == rawjson.Array {
			kept := block.MapElements(w.contentBlock)
			if message, err := replaceIfChanged(message, block, kept, "content"); err == nil {
				return message, true
			}
			return nil, false
		}
		_, keep := w.contentBlock(block)
		return message, keep
	}), "messages")
}

// contentBlock keeps everything but resources that the caller may not read. A
// block that could be read in two ways is none to pass on.
func (w *Rewriter) contentBlock(block rawjson.Value) (rawjson.Value, bool) {
	kind, _ := block.Get("type").Text()
	var holder rawjson.Value
	switch kind {
	case "resource_link":
		holder = block
	case "resource":
		holder = block.Get("resource")
	default:
		return block, true
	}
	uri, ok := elementName(holder, "uri")
	if ok && w.Shower.ShowsResource(uri) {
		return block, true
	}
	if w.Watch != nil {
		w.Watch.Dropped(uri)
	}
	return nil, false
}
