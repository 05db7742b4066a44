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
	if !r.mayNameTask() {
		return nil
	}
	for _, path := range taskIDPaths {
		// An id in another form, or under another spelling, would pass unsealed to
		// a server that reads it.
		holder := r.Params.Get(path[:len(path)-1]...)
		if _, ok := elementName(holder, "taskId"); !ok && hasMemberLike(holder, "taskId") {
			return InvalidParams(r, "unknown "+string(PurposeTask))
		}
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
	r.read.params = false
	return nil
}

// DropSubscriptions removes the resources that the caller may not see from a
// subscriptions/listen request, and the tasks that open does not know; the
// others get back the ids that the server knows. The server acknowledges the
// rest, as it would for what it does not know.
func (r *Request) DropSubscriptions(shows func(uri string) bool, open func(task string) (string, error)) error {
	if r.Method != "subscriptions/listen" {
		return nil
	}
	err := r.mapSubscriptions("resourceSubscriptions", func(e rawjson.Value) (rawjson.Value, bool) {
		uri, ok := e.Text()
		return e, ok && shows(uri)
	})
	if err != nil {
		return err
	}
	return r.mapSubscriptions("taskIds", func(e rawjson.Value) (rawjson.Value, bool) {
		sealed, ok := e.Text()
		if !ok {
			return nil, false
		}
		id, err := open(sealed)
		return rawjson.Quote(id), err == nil
	})
}

func (r *Request) mapSubscriptions(member string, mapped func(rawjson.Value) (rawjson.Value, bool)) error {
	path := []string{"notifications", member}
	wanted := r.Params.Get(path...)
	if !wanted.Exists() {
		return nil
	}
	if wanted.Kind() != rawjson.Array {
		return InvalidParams(r, member+" must be an array")
	}
	kept := wanted.MapElements(mapped)
	if kept.Is(wanted) {
		return nil
	}
	params, err := r.Params.Set(kept, path...)
	if err != nil {
		return InvalidParams(r, "unreadable subscriptions")
	}
	return r.ReplaceParams(params)
}
