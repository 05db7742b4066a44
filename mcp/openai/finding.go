package openai

// Finding is something an operator should know about one tool, resource or
// capability. It is a warning: the message went out, without the declaration
// that it is about.
type Finding struct {
	Code    string // stable and short, such as "entrypoint-no-ui"
	Subject string // tool name, resource address or capability key
	Detail  string // what is the case, in one sentence
	Fix     string // what to write or change, in one sentence
}

// findings collects what one call has to say.
type findings []Finding

func (f *findings) add(code, subject, detail, fix string) {
	*f = append(*f, Finding{Code: code, Subject: subject, Detail: detail, Fix: fix})
}
