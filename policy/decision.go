package policy

// Verdict is the answer to "may this principal use this name".
type Verdict int

// The verdicts. Hidden is the zero value, so that a forgotten answer shows
// nothing.
const (
	// Hidden: the name must look as if it did not exist.
	Hidden Verdict = iota
	// StepUp: the name is shown; using it is answered with a challenge for the
	// missing scopes (RFC 6750 §3.1, insufficient_scope).
	StepUp
	// Allowed: shown and usable.
	Allowed
	// Login: the name is shown to a caller without a token; using it is answered
	// with the request to log in.
	Login
	// Refused: the name is shown, but not to be used in this way, and the caller
	// is told so with [Decision.Message]. Only [View.DecideCall] says it.
	Refused
)

// String returns the word used in logs.
func (v Verdict) String() string {
	switch v {
	case Allowed:
		return "allow"
	case StepUp:
		return "challenge"
	case Login:
		return "login"
	case Refused:
		return "refuse"
	default:
		return "hide"
	}
}

// Decision is a [Verdict] with its grounds. Rule and Reason are for logs and
// for `explain`, never for the caller.
type Decision struct {
	Verdict Verdict
	// Rule is the pattern that decided, or "default".
	Rule string
	// Reason says in words what was missing; empty when allowed.
	Reason string
	// Cause is the same as one fixed word; empty when allowed.
	Cause Cause
	// Missing is what would have let the caller through, where that can be
	// named: scopes of which all are needed, tenants or roles of which one is,
	// annotations, the condition, or the hidden tools of a UI resource.
	Missing []string
	// Scopes is what a challenge has to ask for: everything the operation
	// needs plus everything already granted, so that a client which replaces
	// its token loses nothing.
	Scopes []string
	// Message is what a refused caller is told, in a sentence for the model
	// that made the call.
	Message string
}
