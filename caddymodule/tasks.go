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

// madeTasks are the tasks of this process, whatever its configuration is.
var madeTasks = taskTools{lru.New[taskKey, string](maxTaskTools, 0)}

// taskTools remembers who made a task with which tool, for messages that name
// the task by the server's own id: lists and notifications. It widens nothing:
// a task that is not known here, made before a restart or through another
// replica, is listed to nobody, and spoken of only in the sessions of callers
// from whom nothing is hidden. The handle that a caller holds names its tool itself, and the
// first use of it is remembered here.
type taskTools struct {
	known *lru.Cache[taskKey, string]
}

type taskKey struct {
	holder mcp.Holder
	id     string
}

func (t taskTools) remember(holder mcp.Holder, task mcp.TaskHandle) {
	if len(task.ID)+len(task.Tool) <= maxRememberedTask {
		t.known.Put(taskKey{holder, task.ID}, task.Tool)
	}
}

func (t taskTools) toolOf(holder mcp.Holder, id string) (tool string, known bool) {
	return t.known.Get(taskKey{holder, id})
}

// sealTask implements mcp.Rewriter.SealTask. Only where the answer to a
// tools/call names its own task does the call say which tool the task is of:
// its stream may also speak of other tasks.
func (e *exchange) sealTask(id string, said mcp.TaskSaid) (sealed string, shown bool) {
	task, known := mcp.TaskHandle{ID: id}, true
	if said == mcp.TaskMade && e.toolName() != "" {
		task.Tool = e.toolName()
		madeTasks.remember(e.holder(), task)
	} else {
		task.Tool, known = e.toolOfTask(id)
	}
	shown = e.mayUseTask(task)
	// Servers that know no callers list everybody's, and tell of them. Callers
	// without a token cannot be told apart.
	switch {
	case said == mcp.TaskListed:
		shown = shown && known && !e.principal.Anonymous
	case e.message != nil && e.message.Method == "subscriptions/listen":
		shown = shown && known
	}
	return e.sealer.Seal(mcp.PurposeTask, e.holder(), task.Text()), shown
}

// unsealTask opens a task id of this caller, if the caller may still call the
// tool whose call made the task.
func (e *exchange) unsealTask(sealed string) (id string, err error) {
	if !e.servesTasks() {
		return "", mcp.ErrUnsealed
	}
	text, err := e.sealer.Unseal(mcp.PurposeTask, e.holder(), sealed)
	if err != nil {
		return "", err
	}
	task, ok := mcp.ParseTaskHandle(text)
	if !ok || !e.mayUseTask(task) {
		return "", mcp.ErrUnsealed
	}
	madeTasks.remember(e.holder(), task)
	e.task = task
	return task.ID, nil
}

// resultTool is the tool whose result the answer delivers: the one that is
// called, or the one that made the task which is asked for.
func (e *exchange) resultTool() string {
	if e.message != nil && mcp.Subject(e.message.Method) == mcp.SubjectTask {
		return e.task.Tool
	}
	return e.toolName()
}

// toolOfTask is the tool that made a task, empty if nobody knows, and whether
// the task is known to be this caller's.
func (e *exchange) toolOfTask(id string) (tool string, known bool) {
	if id != "" && e.task.ID == id {
		return e.task.Tool, true
	}
	return madeTasks.toolOf(e.holder(), id)
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
