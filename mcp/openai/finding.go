package openai

import "strings"

// Finding is something an operator should know about one tool, resource or
// capability. It is a warning: the message went out, without the declaration
// that it is about. [RuleOf] says what its code stands for.
type Finding struct {
	Code    string // stable and short, such as "entrypoint-no-ui"; the ID of a Rule
	Subject string // tool name, resource address or capability key
	Detail  string // what is the case, in one sentence
	Fix     string // what to write or change, in one sentence
}

// Repaired reports whether the finding is about something that was mended on
// its way through, and not left out.
func (f Finding) Repaired() bool { return strings.HasSuffix(f.Code, repairedSuffix) }

// repairedSuffix stands behind the rule that a repair is for.
const repairedSuffix = "-repaired"

// findings collects what one call has to say.
type findings []Finding

func (f *findings) add(code, subject, detail, fix string) {
	*f = append(*f, Finding{Code: code, Subject: subject, Detail: detail, Fix: fix})
}
