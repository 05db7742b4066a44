package mcp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/rawjson"
)

// Where results and parameters hold task ids: a task itself, a call that became
// a task, a message that belongs to one (MCP 2025-11-25, basic/utilities/tasks,
// and the tasks extension of 2026-07-28).
var taskIDPaths = [][]string{{"taskId"}, {"task", "taskId"}, {"_meta", relatedTaskMember, "taskId"}}

const relatedTaskMember = "io.modelcontextprotocol/related-task"

// taskMembers are the members of a result that hold tasks and what they found.
var taskMembers = []string{"taskId", "task", "tasks", "result", "inputRequests"}

// TaskSaid is what a message says of a task.
type TaskSaid int

// What is said of tasks.
const (
	TaskNamed  TaskSaid = iota // something about it
	TaskMade                   // by a result: that the call, if it answers one, has made it
	TaskListed                 // that it is one of several
)

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
	var members [5]rawjson.Value
	if variant := v.Pick(taskMembers, members[:]); variant != "" {
		return nil, fmt.Errorf("%w: result member %q is a case variant", ErrUnfilterable, variant)
	}
	var err error
	said := [...]TaskSaid{TaskMade, TaskMade, TaskNamed}
	for i, path := range taskIDPaths {
		if v, _, err = w.sealTask(v, said[i], path...); err != nil {
			return nil, err
		}
	}
	tasks := v.Get("tasks")
	return replaceIfChanged(v, tasks, tasks.MapElements(func(task rawjson.Value) (rawjson.Value, bool) {
		if _, ok := elementName(task, "taskId"); !ok {
			return nil, false
		}
		sealed, shown, err := w.sealTask(task, TaskListed, "taskId")
		return sealed, shown && err == nil
	}), "tasks")
}

// filterTask treats what the state of a task holds, in a result or in the
// parameters of a notification, like an answer of its own: the tasks extension
// of 2026-07-28 delivers results and questions in this way.
func (w *Rewriter) filterTask(state rawjson.Value) (rawjson.Value, error) {
	id, ok := state.Get("taskId").Text()
	if !w.Tasks || !ok {
		return state, nil
	}
	var err error
	if found := state.Get("result"); found.Kind() == rawjson.Object {
		members, variant := openResult(found)
		if variant != "" {
			return nil, fmt.Errorf("%w: member %q of a task's result is a case variant", ErrUnfilterable, variant)
		}
		kept, _, err := w.filterLists(found, &members)
		if err != nil {
			return nil, err
		}
		if kept, err = w.filterContent(kept, &members); err != nil {
			return nil, err
		}
		if kept, err = w.Decorate.Task(id, kept); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnfilterable, err)
		}
		if state, err = replaceIfChanged(state, found, kept, "result"); err != nil {
			return nil, err
		}
	}
	asked := state.Get("inputRequests")
	if !asked.Exists() {
		return state, nil
	}
	question, err := rawjson.Value(`{"resultType":"input_required"}`).Set(asked, "inputRequests")
	if err == nil {
		question, err = w.Decorate.Task(id, question)
	}
	kept := question.Get("inputRequests")
	if err != nil || !kept.Exists() {
		return nil, fmt.Errorf("%w: what a task asks was withheld", ErrUnfilterable)
	}
	return replaceIfChanged(state, asked, kept, "inputRequests")
}

// sealServerTasks is sealTasks for the parameters of a message of the server. It
// reports false if the message is about a task that is not shown.
func (w *Rewriter) sealServerTasks(e envelope, params rawjson.Value) (sealed rawjson.Value, shown bool, err error) {
	if !w.Tasks || w.SealTask == nil {
		return params, true, nil
	}
	if method, _ := e.method.Text(); e.id.Exists() && strings.HasPrefix(method, "tasks/") {
		return params, true, nil // about a task that the client itself has made
	}
	if params, err = w.filterTask(params); err != nil {
		return nil, false, err
	}
	if params, err = w.sealListened(params); err != nil {
		return nil, false, err
	}
	for _, path := range taskIDPaths {
		if params, shown, err = w.sealTask(params, TaskNamed, path...); err != nil || !shown {
			return nil, shown, err
		}
	}
	return params, true, nil
}

// sealListened seals the tasks of which the server says that it will tell.
func (w *Rewriter) sealListened(params rawjson.Value) (rawjson.Value, error) {
	listened := params.Get("notifications", "taskIds")
	if listened.Kind() != rawjson.Array {
		return params, nil
	}
	sealed, err := params.Set(listened.MapElements(func(id rawjson.Value) (rawjson.Value, bool) {
		text, ok := id.Text()
		if !ok {
			return nil, false
		}
		sealed, shown := w.SealTask(text, TaskNamed)
		return rawjson.Quote(sealed), shown
	}), "notifications", "taskIds")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfilterable, err)
	}
	return sealed, nil
}

func (w *Rewriter) sealTask(v rawjson.Value, said TaskSaid, path ...string) (sealed rawjson.Value, shown bool, err error) {
	id, ok := v.Get(path...).Text()
	if !ok {
		return v, true, nil
	}
	text, shown := w.SealTask(id, said)
	v, err = v.Set(rawjson.Quote(text), path...)
	return v, shown, err
}
