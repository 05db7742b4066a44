package caddymodule

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/caddy-mcp-app/caddy-mcp-app/policy"
)

// use sends a request about a name and checks that a hidden one is answered as
// an unknown one.
func (w *messageWorld) use(tally *worldTally, method, params, name string) string {
	before := len(w.askedFor(0))
	status, messages, err := w.send(method, strings.ReplaceAll(params, "NAME", name))
	tally.messages.Add(1)
	if err != nil || len(messages) == 0 {
		return fmt.Sprintf("%s %s: %v", method, name, err)
	}
	answer := messages[len(messages)-1]
	if !w.hides(name) {
		tally.shown.Add(1)
		for _, message := range messages {
			w.inspect(message, "", tally)
		}
		allowed := w.verdict(name) == policy.Allowed
		reached := slices.Contains(w.askedFor(before), name)
		if works := answer.Get("result").Exists(); reached != allowed || allowed && !works {
			return fmt.Sprintf("%s %s is allowed: %v, reaches the server: %v, and is answered with %d %s", method, name, allowed, reached, status, answer)
		}
		return ""
	}
	tally.hidden.Add(1)
	unknown := strings.NewReplacer("n0", "n9").Replace(name)
	kind := policy.Tool
	switch {
	case strings.HasPrefix(method, "resources/"):
		kind = policy.Resource
	case strings.HasPrefix(method, "prompts/"), strings.Contains(params, "ref/prompt"):
		kind = policy.Prompt
	case strings.Contains(params, "ref/resource"):
		kind = policy.Template
	}
	if v := w.view.Decide(kind, unknown).Verdict; v != policy.Hidden && v != policy.Allowed {
		return "" // a pattern asks for more before anybody looks for the name
	}
	other, wanted, err := w.send(method, strings.ReplaceAll(params, "NAME", unknown))
	if err != nil || len(wanted) == 0 {
		return fmt.Sprintf("%s %s: %v", method, unknown, err)
	}
	if got, want := strings.ReplaceAll(string(answer), name, unknown), string(wanted[len(wanted)-1]); got != want || status != other {
		return fmt.Sprintf("%s %s is answered with %d %s, an unknown name with %d %s", method, name, status, got, other, want)
	}
	return ""
}

func (w *messageWorld) useTools(tally *worldTally) string {
	return w.use(tally, "tools/call", `"name":"NAME","arguments":{"x":1}`, w.otherTool())
}

// otherTool is a tool without a meaning of its own.
func (w *messageWorld) otherTool() string {
	for {
		if name := w.tools[w.r.IntN(len(w.tools))].name; name != w.readTool && name != w.updateTool && name != w.search {
			return name
		}
	}
}

func (w *messageWorld) useOthers(tally *worldTally) string {
	one := func(names []string) string { return names[w.r.IntN(len(names))] }
	problem := w.use(tally, "prompts/get", `"name":"NAME"`, one(w.prompts))
	if problem == "" {
		problem = w.use(tally, "resources/read", `"uri":"NAME"`, one(w.resources))
	}
	if problem == "" && !w.modern {
		problem = w.use(tally, "resources/subscribe", `"uri":"NAME"`, one(w.resources))
	}
	if problem == "" {
		problem = w.use(tally, "completion/complete", `"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"a","value":""}`, one(w.prompts))
	}
	if problem == "" {
		problem = w.use(tally, "completion/complete", `"ref":{"type":"ref/resource","uri":"NAME"},"argument":{"name":"a","value":""}`, one(w.template))
	}
	return problem
}

func (w *messageWorld) readSettings(tally *worldTally) string {
	if w.module.OpenAI.Settings == nil || !w.calls(w.readTool) {
		return ""
	}
	answer, _, err := w.ask(tally, "tools/call", `"name":"`+w.readTool+`"`)
	if err != nil {
		return err.Error()
	}
	var got, want []string
	for group := range answer.Get("result", "structuredContent", "layout").Elements() {
		items := group.Get("items")
		if items.Len() == 0 {
			return "a group is empty: " + string(answer)
		}
		for item := range items.Elements() {
			if tool, ok := item.Get("tool").Text(); ok {
				got = append(got, tool)
			}
		}
	}
	for _, t := range w.tools {
		if w.calls(t.name) && !strings.Contains(t.input, "required") {
			want = append(want, t.name)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("the settings page has the tools %q, want %q: %s", got, want, answer)
	}
	// The text repeats the structure, and must not say more.
	if text, _ := answer.Get("result", "content").Text(); slices.ContainsFunc(w.hiddenNames(), func(name string) bool { return strings.Contains(text, name) }) {
		return "the text of the settings names hidden tools: " + text
	}
	return ""
}

func (w *messageWorld) searchMentions(tally *worldTally) string {
	if w.module.OpenAI.Mentions == nil || !w.calls(w.search) {
		return ""
	}
	answer, _, err := w.ask(tally, "tools/call", `"name":"`+w.search+`","arguments":{"query":""}`)
	if err != nil {
		return err.Error()
	}
	got := listed(answer.Get("result", "structuredContent", "items"), "uri")
	var want []string
	for _, uri := range w.mentioned {
		if spoken := w.view.HasRule(policy.Resource, uri) || strings.HasPrefix(uri, "ui:"); !spoken || w.view.Shows(policy.Resource, uri) {
			want = append(want, uri)
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("mentions %q are offered, want %q: %s", got, want, answer)
	}
	return ""
}

// resume opens a stream on which notices and answers to earlier questions come.
func (w *messageWorld) resume(tally *worldTally) string {
	if w.modern {
		return ""
	}
	_, notices, err := w.ask(tally, http.MethodGet, "")
	if err != nil {
		return err.Error()
	}
	if want := w.shownOf(policy.Resource, w.resources); !slices.Equal(notices, want) {
		return fmt.Sprintf("told of changes of %q, want %q", notices, want)
	}
	return ""
}

func (w *messageWorld) subscribe(tally *worldTally) string {
	if !w.modern {
		return ""
	}
	w.subscribed()
	if _, _, err := w.ask(tally, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["`+strings.Join(w.resources, `","`)+`"]}`); err != nil {
		return err.Error()
	}
	if got, want := w.subscribed(), w.shownOf(policy.Resource, w.resources); !slices.Equal(got, want) {
		return fmt.Sprintf("subscribed to %q, want %q", got, want)
	}
	return ""
}
