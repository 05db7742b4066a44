package interop

import (
	"slices"
	"strings"
	"testing"
)

// Revisions of the two eras.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// call is a tool and what it is given.
type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// plan is what a client does with one server, and what it then must have seen.
type plan struct {
	Call        call   `json:"call"`    // reports progress
	Linking     call   `json:"linking"` // links to visible and hidden resources
	HiddenTool  string `json:"hiddenTool"`
	UnknownTool string `json:"unknownTool"`

	Read            string `json:"read"`
	HiddenResource  string `json:"hiddenResource"`
	UnknownResource string `json:"unknownResource"`

	Prompt        string `json:"prompt"`
	HiddenPrompt  string `json:"hiddenPrompt"`
	UnknownPrompt string `json:"unknownPrompt"`

	// Announce is the tool that makes the server say that HiddenResource and
	// Updated changed; no Updated, no announcements.
	Announce string `json:"announce"`
	Updated  string `json:"updated,omitempty"`
	// Resume breaks the connection once, in the middle of an answer.
	Resume bool `json:"resume"`

	want transcript
}

// transcript is what a client saw.
type transcript struct {
	Revision  string   `json:"revision"`
	Tools     []string `json:"tools"`
	Prompts   []string `json:"prompts"`
	Resources []string `json:"resources"`
	Templates []string `json:"templates"`

	Called      string   `json:"called"`
	Progress    int      `json:"progress"`
	Links       []string `json:"links"`
	HiddenCall  string   `json:"hiddenCall"`
	UnknownCall string   `json:"unknownCall"`

	Read        string `json:"read"` // its beginning is compared
	HiddenRead  string `json:"hiddenRead"`
	UnknownRead string `json:"unknownRead"`

	Prompt        string `json:"prompt"`
	HiddenPrompt  string `json:"hiddenPrompt"`
	UnknownPrompt string `json:"unknownPrompt"`

	Updated      []string `json:"updated"`
	ResumedTools []string `json:"resumedTools"`
	Resumed      int      `json:"resumed"`    // how often streams were resumed
	AfterClose   int      `json:"afterClose"` // the status in a closed session
}

// check holds what a client saw to the plan.
func (p plan) check(t *testing.T, got transcript) {
	t.Helper()
	want := p.want
	equal := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s = %q, want %q", what, got, want)
		}
	}
	same := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s = %q, want %q", what, got, want)
		}
	}
	same("revision", got.Revision, want.Revision)
	equal("tools", got.Tools, want.Tools)
	equal("prompts", got.Prompts, want.Prompts)
	equal("resources", got.Resources, want.Resources)
	equal("templates", got.Templates, want.Templates)
	same("called", got.Called, want.Called)
	if got.Progress != want.Progress {
		t.Errorf("%d progress notifications, want %d", got.Progress, want.Progress)
	}
	equal("links", got.Links, want.Links)
	if !strings.HasPrefix(got.Read, want.Read) {
		t.Errorf("read %q, want %q…", got.Read, want.Read)
	}
	same("prompt", got.Prompt, want.Prompt)
	// The hidden is answered like the unknown, down to the letter.
	same("hidden tool", got.HiddenCall, strings.ReplaceAll(got.UnknownCall, p.UnknownTool, p.HiddenTool))
	same("hidden resource", got.HiddenRead, strings.ReplaceAll(got.UnknownRead, p.UnknownResource, p.HiddenResource))
	same("hidden prompt", got.HiddenPrompt, strings.ReplaceAll(got.UnknownPrompt, p.UnknownPrompt, p.HiddenPrompt))
	for _, unknown := range []string{got.UnknownCall, got.UnknownRead, got.UnknownPrompt} {
		if !strings.HasPrefix(unknown, "error ") && !strings.Contains(unknown, `"isError":true`) {
			t.Errorf("the unknown is answered by %q, no error", unknown)
		}
	}
	if p.Updated != "" && !slices.Contains(got.Updated, p.Updated) || slices.ContainsFunc(got.Updated, func(uri string) bool { return uri != p.Updated }) {
		t.Errorf("updates of %q, want only and at least one of %q", got.Updated, p.Updated)
	}
	if p.Resume {
		equal("tools after the stream was resumed", got.ResumedTools, want.Tools)
		if got.Resumed == 0 {
			t.Error("no stream was resumed")
		}
	}
	if got.AfterClose != want.AfterClose {
		t.Errorf("the closed session answers %d, want %d", got.AfterClose, want.AfterClose)
	}
}

// in returns the plan for one era of a server. The modern one has no sessions
// and resumes nothing.
func (p plan) in(revision string) plan {
	p.want.Revision = revision
	if revision == modern {
		p.Resume, p.want.AfterClose = false, 0
	}
	return p
}
