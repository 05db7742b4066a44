package mcp

import (
	"encoding/json"
	"testing"
)

// checkAgainstStandardLibrary reads body as a naive Go server would.
func checkAgainstStandardLibrary(t *testing.T, r *Request, body []byte) {
	t.Helper()
	var naive struct {
		Method string
		Params struct {
			Name, URI, TaskID string
			Ref               struct{ Type, Name, URI string }
		}
	}
	// Unmarshal may refuse what it finds under names we do not care about.
	if err := json.Unmarshal(body, &naive); err != nil {
		return
	}
	if naive.Method != r.Method {
		t.Fatalf("method is %q here and %q in encoding/json: %s", r.Method, naive.Method, body)
	}
	var name string
	switch Subject(r.Method) {
	case SubjectTool, SubjectPrompt:
		name = naive.Params.Name
	case SubjectResource:
		name = naive.Params.URI
	case SubjectReference:
		if name = naive.Params.Ref.Name; naive.Params.Ref.Type == "ref/resource" {
			name = naive.Params.Ref.URI
		}
	case SubjectTask:
		name = naive.Params.TaskID
	default:
		return
	}
	if r.Kind != Response && name != r.Name {
		t.Fatalf("%s is about %q here and %q in encoding/json: %s", r.Method, r.Name, name, body)
	}
}
