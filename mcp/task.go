package mcp

import (
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Where results and parameters hold task ids: a task itself, a call that became
// a task, a message that belongs to one (MCP 2025-11-25, basic/utilities/tasks,
// and the tasks extension of 2026-07-28).
var taskIDPaths = [][]string{{"taskId"}, {"task", "taskId"}, {"_meta", "io.modelcontextprotocol/related-task", "taskId"}}

// relatedTask is the first of taskIDPaths that names a task made elsewhere.
const relatedTask = 2

// TaskHandle is what is sealed in place of a task's id: the id with the tool
// whose call made the task, so that the handle goes when the tool does.
type TaskHandle struct {
	Tool string // empty if it is not known
	ID   string
}

// Text is the handle in the form that [ParseTaskHandle] reads.
func (h TaskHandle) Text() string { return strconv.Itoa(len(h.Tool)) + ":" + h.Tool + h.ID }

// ParseTaskHandle is the inverse of [TaskHandle.Text]; it reports false for
// other text.
func ParseTaskHandle(text string) (TaskHandle, bool) {
	length, rest, found := strings.Cut(text, ":")
	n, err := strconv.Atoi(length)
	if !found || err != nil || n < 0 || n > len(rest) {
		return TaskHandle{}, false
	}
	return TaskHandle{Tool: rest[:n], ID: rest[n:]}, true
}

// sealTasks makes the ids of tasks usable by their caller only. A task delivers
// the result of an earlier call; its id is all the authority it needs. v is a
// result, whose own task may have been made by the call it answers. Tasks in
// its list that are not shown are left out of it.
func (w *Rewriter) sealTasks(v rawjson.Value) (rawjson.Value, error) {
	if !w.Tasks || w.SealTask == nil {
		return v, nil
	}
	var err error
	for i, path := range taskIDPaths {
		if v, _, err = w.sealTask(v, i < relatedTask, path...); err != nil {
			return nil, err
		}
	}
	tasks := v.Get("tasks")
	return replaceIfChanged(v, tasks, tasks.MapElements(func(task rawjson.Value) (rawjson.Value, bool) {
		sealed, shown, err := w.sealTask(task, false, "taskId")
		return sealed, shown && err == nil
	}), "tasks")
}

// sealServerTasks is sealTasks for the parameters of a message of the server. It
// reports false if the message is about a task that is not shown.
func (w *Rewriter) sealServerTasks(params rawjson.Value) (sealed rawjson.Value, shown bool, err error) {
	if !w.Tasks || w.SealTask == nil {
		return params, true, nil
	}
	for _, path := range taskIDPaths {
		if params, shown, err = w.sealTask(params, false, path...); err != nil || !shown {
			return nil, shown, err
		}
	}
	return params, true, nil
}

func (w *Rewriter) sealTask(v rawjson.Value, made bool, path ...string) (sealed rawjson.Value, shown bool, err error) {
	id, ok := v.Get(path...).Text()
	if !ok {
		return v, true, nil
	}
	text, shown := w.SealTask(id, made)
	v, err = v.Set(rawjson.Quote(text), path...)
	return v, shown, err
}
