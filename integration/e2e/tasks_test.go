package e2e

import (
	"slices"
	"strings"
	"testing"
)

// withTasks opens the methods of tasks, with a tool for everybody and one for
// whoever has a scope.
const withTasks = `methods tasks/*
policy {
	tool report
	tool admin.report {
		scopes decks.write
	}
}`

// hidesNothing is an endpoint of one tenant, from whose callers nothing is
// hidden.
const hidesNothing = "mcp_app /mcp {$WORKSPACE} {\nresource http://acme.localhost:{$GATEWAY_PORT}/mcp\n" + auth + "methods tasks/*\npolicy {\n\tdefault allow\n}\n}\n"

// taskEndpoints are the endpoints of most tests about tasks.
var taskEndpoints = map[string]string{"rules": endpoint(withTasks), "nothing hidden": hidesNothing}

// reloadTasks replaces the rules.
func (g *gateway) reloadTasks(t *testing.T, rules string) {
	t.Helper()
	if err := g.reload(t, site(endpoint(rules))); err != nil {
		t.Fatal(err)
	}
}

// task calls a tool and returns the handle of the task that the call became.
func (c *caller) task(t *testing.T, tool string) string {
	t.Helper()
	a := c.call(t, "tools/call", tool, map[string]any{"name": tool, "arguments": map[string]any{"query": "q"}, "task": map[string]any{"ttl": 60000}})
	path := []string{"result", "task", "taskId"}
	if c.era == modern {
		path = []string{"result", "taskId"}
	}
	handle, ok := a.message.Get(path...).Text()
	if !ok || len(handle) < 20 {
		t.Fatalf("no task was made, or its id is the server's: %s", a)
	}
	return handle
}

func (c *caller) about(t *testing.T, method, task string) *answer {
	t.Helper()
	return c.call(t, method, task, map[string]any{"taskId": task})
}

// taskMethods are the methods of an era that name a task.
func taskMethods(era string) []string {
	if era == modern {
		return []string{"tasks/get", "tasks/cancel", "tasks/update"}
	}
	return []string{"tasks/get", "tasks/cancel", "tasks/result"}
}

func TestATaskServesWhoMadeIt(t *testing.T) {
	server := &taskServer{}
	g := startBefore(t, server, endpoint(withTasks))
	for _, era := range eras {
		c := g.caller(t, era, editor("acme"))
		handle := c.task(t, "admin.report")
		for _, method := range taskMethods(era) {
			a := c.about(t, method, handle)
			if a.code() != "" || !strings.Contains(string(a.body), "admin.report") {
				t.Errorf("%s: %s: %s", era, method, a)
			}
			// What a task has found is filtered like any answer.
			if strings.Contains(string(a.body), "note://hidden") {
				t.Errorf("%s: %s links to what is hidden: %s", era, method, a)
			}
			for _, path := range [][]string{{"taskId"}, {"_meta", "io.modelcontextprotocol/related-task", "taskId"}} {
				if id := a.message.Get(append([]string{"result"}, path...)...); id.Exists() && string(id) != `"`+handle+`"` {
					t.Errorf("%s: %s names the task %s, not as its caller knows it", era, method, id)
				}
			}
		}
		if got := c.call(t, "tasks/list", "", nil).names("tasks", "taskId"); !slices.Equal(got, []string{handle}) {
			t.Errorf("%s: lists %q, want the one task of the caller in this era, %q", era, got, handle)
		}
		// The caller's tasks of this era only, for the next turn of the loop.
		server.mu.Lock()
		server.tools = nil
		server.mu.Unlock()
	}
}

// taskStrangers are callers who must not use an editor's task of acme.
var taskStrangers = map[string]person{
	"a colleague":                     {"carol@acme", "acme", []string{"mcp.use", "decks.write"}},
	"the namesake in another tenant":  {"erin@acme", "globex", []string{"mcp.use", "decks.write"}},
	"the same person without a scope": {"erin@acme", "acme", []string{"mcp.use"}},
}

func TestATaskIsUnknownToEverybodyElse(t *testing.T) {
	for name, site := range taskEndpoints {
		server := &taskServer{}
		g := startBefore(t, server, site)
		for _, era := range eras {
			handle := g.caller(t, era, editor("acme")).task(t, "admin.report")
			for who, person := range taskStrangers {
				if who != "a colleague" && site == hidesNothing {
					continue // has no access at all, or just as much
				}
				t.Run(name+"/"+era+"/"+who, func(t *testing.T) {
					c := g.caller(t, era, person)
					for _, method := range taskMethods(era) {
						server.forget()
						unknown := c.about(t, method, "no-such-task")
						sameAsUnknown(t, c.about(t, method, handle), unknown, handle, "no-such-task")
						sameAsUnknown(t, c.about(t, method, "1"), unknown, "1", "no-such-task")
						if asked := server.forget(); len(asked) > 0 {
							t.Errorf("the server was asked %q", asked)
						}
					}
					if got := c.call(t, "tasks/list", "", nil); len(got.names("tasks", "taskId")) > 0 {
						t.Errorf("lists %s", got)
					}
				})
			}
		}
	}
}

// A reload may take a tool away from a caller, and its tasks go with it.
func TestATaskGoesWithItsTool(t *testing.T) {
	server := &taskServer{}
	g := startBefore(t, server, endpoint(withTasks))
	type held struct {
		*caller
		gone, kept string
	}
	callers := map[string]held{}
	for _, era := range eras {
		c := g.caller(t, era, editor("acme"))
		callers[era] = held{c, c.task(t, "admin.report"), c.task(t, "report")}
	}
	load := func(rules string) { g.reloadTasks(t, rules) }
	load(strings.Replace(withTasks, "scopes decks.write", "tenants globex", 1))
	for era, c := range callers {
		for _, method := range taskMethods(era) {
			server.forget()
			sameAsUnknown(t, c.about(t, method, c.gone), c.about(t, method, "no-such-task"), c.gone, "no-such-task")
			if asked := server.forget(); len(asked) > 0 {
				t.Errorf("%s: the server was asked %q", era, asked)
			}
			if a := c.about(t, method, c.kept); a.code() != "" {
				t.Errorf("%s: %s of the tool that stays: %s", era, method, a)
			}
		}
		if got := c.call(t, "tasks/list", "", nil); slices.Contains(got.names("tasks", "taskId"), c.gone) || !slices.Contains(got.names("tasks", "taskId"), c.kept) ||
			strings.Contains(string(got.body), "admin.report") {
			t.Errorf("%s: lists %s, want %s only", era, got, c.kept)
		}
		// Whatever the server says on a stream, nothing is of the hidden tool.
		if got := c.tool(t, "report", nil); strings.Contains(string(got.body), "admin.report") || !strings.Contains(string(got.body), "step of report") {
			t.Errorf("%s: a stream speaks of %s", era, got)
		}
	}
	load(withTasks)
	for era, c := range callers {
		if a := c.about(t, "tasks/get", c.gone); a.code() != "" {
			t.Errorf("%s: the tool came back, its task did not: %s", era, a)
		}
	}
	load(strings.Replace(withTasks, "methods tasks/*\n", "", 1))
	for era, c := range callers {
		a := c.about(t, "tasks/get", c.kept)
		if want := c.call(t, "no/such_method", "", nil); a.code() != want.code() || a.status != want.status {
			t.Errorf("%s: closed methods are answered with %s, an unknown one with %s", era, a, want)
		}
	}
}

// An id in a form that the gateway does not seal must not pass to a server that
// reads it.
func TestATaskIDInAnotherFormIsUnknownToo(t *testing.T) {
	server := &taskServer{}
	g := startBefore(t, server, hidesNothing)
	for _, era := range eras {
		g.caller(t, era, editor("acme")).task(t, "report")
		c := g.caller(t, era, viewer("acme"))
		for _, tt := range []struct{ method, params string }{
			{"tasks/get", `{"taskId":1}`},
			{"tasks/get", `{"taskId":[1]}`},
			{"tasks/get", `{"taskId":null}`},
			{"tasks/get", `{"TaskID":"1"}`},
			{"tasks/get", `{"taskid":1}`},
			{"tools/call", `{"name":"1","taskId":1}`},
			{"tools/call", `{"name":"1","task":{"taskID":"1"}}`},
			{"tools/call", `{"name":"1","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}`},
			{"tools/call", `{"name":"1","_meta":{"io.modelcontextprotocol/related-task":{"taskId":1}}}`},
			{"tools/call", `{"name":"1","_meta":{"io.modelcontextprotocol/related-task":{"TaskId":"1"}}}`},
			{"tools/call", `{"name":"1","_meta":{"io.modelcontextprotocol/Related-Task":{"taskId":"1"}}}`},
		} {
			if era == modern && strings.Contains(tt.params, "_meta") {
				continue // raw adds the one that the era needs
			}
			server.forget()
			if a := c.raw(t, tt.method, "1", tt.params); a.code() == "" {
				t.Errorf("%s: %s: %s", era, tt.params, a)
			}
			if asked := server.forget(); len(asked) > 0 {
				t.Errorf("%s: %s: the server was asked %q", era, tt.params, asked)
			}
		}
	}
}

// subscriptions/listen names tasks too (tasks extension of 2026-07-28).
func TestOnlyTheOwnTasksAreListenedTo(t *testing.T) {
	for name, site := range taskEndpoints {
		t.Run(name, func(t *testing.T) {
			server := &taskServer{}
			g := startBefore(t, server, site)
			other := g.caller(t, modern, person{"carol@acme", "acme", []string{"mcp.use"}}).task(t, "report")
			c := g.caller(t, modern, editor("acme"))
			own, told := c.task(t, "report"), 1
			gone := "no-such-task"
			if site != hidesNothing {
				gone = c.task(t, "admin.report")
				g.reloadTasks(t, strings.Replace(withTasks, "scopes decks.write", "tenants globex", 1))
			}
			server.forget()
			a := c.listen(t, own, other, gone, "1", 1)
			if got, want := server.forget(), []string{"subscriptions/listen <nil> [2]"}; !slices.Equal(got, want) {
				t.Errorf("the server was asked %q, want %q", got, want)
			}
			if !strings.Contains(string(a.body), `"taskIds":["`+own+`"]`) || strings.Count(string(a.body), "notifications/tasks") != told {
				t.Errorf("the stream is not of the own task only: %s", a)
			}
			if strings.Contains(string(a.body), "note://hidden") && site != hidesNothing {
				t.Errorf("the stream links to what is hidden: %s", a)
			}
		})
	}
}

// Where tasks are closed, nobody listens to any.
func TestWhereTasksAreClosedNobodyListensToAny(t *testing.T) {
	server := &taskServer{}
	g := startBefore(t, server, endpoint(withTasks))
	c := g.caller(t, modern, editor("acme"))
	own := c.task(t, "report")
	g.reloadTasks(t, strings.Replace(withTasks, "methods tasks/*\n", "", 1))
	c.listen(t, own, "1")
	if got, want := server.forget(), []string{"subscriptions/listen <nil> []"}; !slices.Equal(got, want) {
		t.Errorf("the server was asked %q, want %q", got, want)
	}
}

// listen asks to be told of tasks.
func (c *caller) listen(t *testing.T, tasks ...any) *answer {
	t.Helper()
	return c.call(t, "subscriptions/listen", "", map[string]any{"notifications": map[string]any{"taskIds": tasks}})
}

// The answer of a tool with a known meaning is held to the same rules when a
// task delivers it.
func TestWhatATaskFoundIsHeldToTheRulesOfItsTool(t *testing.T) {
	g := startBefore(t, &taskServer{}, endpoint(`methods tasks/*
policy {
	tool search
	resource note://shown
	resource note://hidden {
		tenants globex
	}
}
openai {
	mentions search
}`))
	for _, era := range eras {
		c := g.caller(t, era, editor("acme"))
		method := map[string]string{legacy: "tasks/result", modern: "tasks/get"}[era]
		a := c.about(t, method, c.task(t, "search"))
		if strings.Contains(string(a.body), "note://hidden") || !strings.Contains(string(a.body), "note://shown") {
			t.Errorf("%s: %s", era, a)
		}
	}
}

// Callers without a token cannot be told apart: a list of their tasks would be
// everybody's.
func TestTasksOfCallersWithoutATokenAreInNoList(t *testing.T) {
	g := startBefore(t, &taskServer{}, strings.Replace(mixedSite, "policy {", "methods tasks/*\npolicy {\n\ttool report {\n\t\tanonymous\n\t}", 1))
	for _, era := range eras {
		c := g.nobody()
		c.era = era
		c.open(t)
		handle := c.task(t, "report")
		if a := c.about(t, "tasks/get", handle); a.code() != "" {
			t.Errorf("%s: the handle is of no use: %s", era, a)
		}
		if a := c.call(t, "tasks/list", "", nil); len(a.names("tasks", "taskId")) != 0 || !a.message.Get("result", "tasks").Exists() {
			t.Errorf("%s: lists %s", era, a)
		}
	}
}
