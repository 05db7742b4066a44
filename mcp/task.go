package mcp

import (
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Where results and parameters hold task ids: a task itself, a call that became
// a task, a message that belongs to one (MCP 2025-11-25, basic/utilities/tasks,
// and the tasks extension of 2026-07-28).
var taskIDPaths = [][]string{{"taskId"}, {"task", "taskId"}, {"_meta", "io.modelcontextprotocol/related-task", "taskId"}}

// sealTasks makes the ids of tasks usable by their caller only. A task delivers
// the result of an earlier call; its id is all the authority it needs. v is the
// result or the parameters of a message.
func (w *Rewriter) sealTasks(v rawjson.Value) (rawjson.Value, error) {
	if !w.Tasks || w.Seal == nil {
		return v, nil
	}
	seal := func(v rawjson.Value, path ...string) (rawjson.Value, error) {
		id, ok := v.Get(path...).Text()
		if !ok {
			return v, nil
		}
		return v.Set(rawjson.Quote(w.Seal(PurposeTask, id)), path...)
	}
	var err error
	for _, path := range taskIDPaths {
		if v, err = seal(v, path...); err != nil {
			return nil, err
		}
	}
	tasks := v.Get("tasks")
	return replaceIfChanged(v, tasks, tasks.MapElements(func(task rawjson.Value) (rawjson.Value, bool) {
		sealed, err := seal(task, "taskId")
		return sealed, err == nil
	}), "tasks")
}
