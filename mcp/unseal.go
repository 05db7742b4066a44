package mcp

import (
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Unseal gives the server back its own cursor and task ids in the parameters of
// a request, as open reveals them. What was not sealed for the caller is
// answered like a value the server never gave out. Errors are *[Error].
func (r *Request) Unseal(open func(Purpose, string) (string, error)) error {
	if strings.HasSuffix(r.Method, "/list") {
		if err := r.unsealMember(open, PurposeCursor, "cursor"); err != nil {
			return err
		}
	}
	for _, path := range taskIDPaths {
		if err := r.unsealMember(open, PurposeTask, path...); err != nil {
			return err
		}
	}
	if Subject(r.Method) == SubjectTask {
		r.Name, _ = r.Params.Get("taskId").Text()
	}
	return nil
}

func (r *Request) unsealMember(open func(Purpose, string) (string, error), purpose Purpose, path ...string) error {
	sealed, ok := r.Params.Get(path...).Text()
	if !ok {
		return nil
	}
	text, err := open(purpose, sealed)
	if err != nil {
		return InvalidParams(r, "unknown "+string(purpose))
	}
	params, err := r.Params.Set(rawjson.Quote(text), path...)
	if err != nil {
		return InvalidParams(r, "unreadable "+string(purpose))
	}
	return r.ReplaceParams(params)
}

// ReplaceParams puts other parameters into the message; everything else keeps
// its bytes. The only error is an *[Error].
func (r *Request) ReplaceParams(params rawjson.Value) error {
	body, err := r.Body.Set(params, "params")
	if err != nil {
		return InvalidParams(r, "unreadable parameters")
	}
	r.Body, r.Params = body, params
	return nil
}

// DropSubscriptions removes the resources that the caller may not see from a
// subscriptions/listen request. The server acknowledges the rest, as it would
// for resources it does not know.
func (r *Request) DropSubscriptions(shows func(uri string) bool) error {
	if r.Method != "subscriptions/listen" {
		return nil
	}
	path := []string{"notifications", "resourceSubscriptions"}
	wanted := r.Params.Get(path...)
	if !wanted.Exists() {
		return nil
	}
	if wanted.Kind() != rawjson.Array {
		return InvalidParams(r, "resourceSubscriptions must be an array")
	}
	kept := wanted.MapElements(func(e rawjson.Value) (rawjson.Value, bool) {
		uri, ok := e.Text()
		return e, ok && shows(uri)
	})
	if len(kept) == len(wanted) {
		return nil
	}
	params, err := r.Params.Set(kept, path...)
	if err != nil {
		return InvalidParams(r, "unreadable subscriptions")
	}
	return r.ReplaceParams(params)
}
