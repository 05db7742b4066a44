package caddymodule

import (
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp"
	"github.com/caddy-mcp-app/caddy-mcp-app/mcp/lru"
)

// maxTaskTools bounds the tasks whose tools are remembered. Each takes some
// hundred bytes.
const maxTaskTools = 16384

// maxRememberedTask bounds the lengths of id and tool of a remembered task, in
// bytes together.
const maxRememberedTask = 1024

// taskTools remembers which tool made a task, for messages that name the task
// by the server's own id: lists and notifications. It widens nothing: what is
// not known, after a reload or in another replica, is not shown to callers from
// whom something is hidden. The handle that a caller holds names its tool
// itself, and the first use of it is remembered here.
type taskTools struct {
	known *lru.Cache[taskKey, string]
}

type taskKey struct {
	holder mcp.Holder
	id     string
}

func newTaskTools() *taskTools {
	return &taskTools{lru.New[taskKey, string](maxTaskTools, 0)}
}

func (t *taskTools) remember(holder mcp.Holder, task mcp.TaskHandle) {
	if task.Tool != "" && len(task.ID)+len(task.Tool) <= maxRememberedTask {
		t.known.Put(taskKey{holder, task.ID}, task.Tool)
	}
}

func (t *taskTools) toolOf(holder mcp.Holder, id string) string {
	tool, _ := t.known.Get(taskKey{holder, id})
	return tool
}

// sealTask implements mcp.Rewriter.SealTask. Only where the answer to a
// tools/call names its own task does the call say which tool the task is of:
// its stream may also speak of other tasks.
func (e *exchange) sealTask(id string, made bool) (sealed string, shown bool) {
	task := mcp.TaskHandle{ID: id}
	if made && e.message != nil && e.message.Method == "tools/call" {
		task.Tool = e.message.Name
		e.taskTools.remember(e.holder(), task)
	} else {
		task.Tool = e.taskTools.toolOf(e.holder(), id)
	}
	return e.sealer.Seal(mcp.PurposeTask, e.holder(), task.Text()), e.mayUseTask(task)
}

// unsealTask opens a task id of this caller, if the caller may still call the
// tool whose call made the task.
func (e *exchange) unsealTask(sealed string) (id string, err error) {
	text, err := e.sealer.Unseal(mcp.PurposeTask, e.holder(), sealed)
	if err != nil {
		return "", err
	}
	task, ok := mcp.ParseTaskHandle(text)
	if !ok || !e.mayUseTask(task) {
		return "", mcp.ErrUnsealed
	}
	e.taskTools.remember(e.holder(), task)
	return task.ID, nil
}

// mayUseTask reports whether a task's tool may be called. A task of an unknown
// tool, such as one whose making was answered on a resumed stream, might be any
// tool's: it is usable only where nothing is hidden.
func (e *exchange) mayUseTask(task mcp.TaskHandle) bool {
	if task.Tool == "" {
		return e.view.HidesNothing()
	}
	return e.view.mayCall(task.Tool)
}
