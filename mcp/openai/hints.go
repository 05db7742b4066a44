package openai

import (
	"errors"
	"fmt"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// hint is one of the four annotations by which a host judges a tool's risk.
// (MCP schema, ToolAnnotations.)
type hint struct {
	name    string
	careful bool // the value that makes hosts more careful
	of      func(Tool) *bool
}

var hints = []hint{
	{"readOnlyHint", false, func(t Tool) *bool { return t.ReadOnly }},
	{"destructiveHint", true, func(t Tool) *bool { return t.Destructive }},
	{"idempotentHint", false, func(t Tool) *bool { return t.Idempotent }},
	{"openWorldHint", true, func(t Tool) *bool { return t.OpenWorld }},
}

func (t Tool) hasHints() bool {
	for _, h := range hints {
		if h.of(t) != nil {
			return true
		}
	}
	return false
}

// checkHints refuses hints that contradict each other.
func (t Tool) checkHints() error {
	if t.ReadOnly == nil || !*t.ReadOnly {
		return nil
	}
	switch {
	case t.Destructive != nil && *t.Destructive:
		return errors.New("a tool cannot be read-only and destructive: write one of the two")
	case t.Idempotent != nil && !*t.Idempotent:
		return errors.New("a tool that only reads is idempotent: leave idempotent out")
	}
	return nil
}

// declareHints fills in annotations. What the server says itself is only ever
// made more careful: a declaration that would make a tool look safer than its
// own server says is refused, because hosts skip the user's consent on the
// strength of these.
func (o *Overlay) declareHints(tool rawjson.Value, name string, found *findings) rawjson.Value {
	t, ok := mostSpecific(o.tools, name, func(t Tool) (pattern, bool) { return pattern(t.Name), t.hasHints() })
	if !ok {
		return tool
	}
	if err := contradictsWrite(tool, t); err != nil {
		found.add("hints-contradiction", name, "hints not declared: "+err.Error(), "correct the annotations in the server, or take the hint out of the configuration")
		return tool
	}
	e := edits{tool, nil}
	for _, h := range hints {
		want := h.of(t)
		if want == nil {
			continue
		}
		own, said := tool.Get("annotations", h.name).Bool()
		if said && own != *want && *want != h.careful {
			found.add("hints-contradiction", name,
				fmt.Sprintf("%s %t not declared: the server says %t, which is the more careful value", h.name, *want, own),
				"correct the annotation in the server, or take the hint out of the configuration")
			continue
		}
		e.set(boolean(*want), "annotations", h.name)
	}
	if e.err != nil {
		found.add("hints-bad-annotations", name, "the server's annotations are not an object, so nothing can be added", "correct the server")
		return tool
	}
	return e.v
}

// contradictsWrite refuses to call a tool read-only that its server describes
// as one that writes.
func contradictsWrite(tool rawjson.Value, t Tool) error {
	if t.ReadOnly == nil || !*t.ReadOnly {
		return nil
	}
	if destructive, _ := tool.Get("annotations", "destructiveHint").Bool(); destructive {
		return errors.New("read-only is declared, but the server says destructiveHint true")
	}
	if idempotent, said := tool.Get("annotations", "idempotentHint").Bool(); said && !idempotent {
		return errors.New("read-only is declared, but the server says idempotentHint false")
	}
	return nil
}
