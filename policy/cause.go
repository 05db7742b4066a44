package policy

// Cause says in one fixed word why a [Decision] is not "allowed", for programs
// that sort decisions and for advice to an operator. Like [Decision.Reason] it
// is not for the caller.
type Cause string

// The causes, in the order in which they are asked.
const (
	// CauseDefault: no rule fits the name and the default is deny.
	CauseDefault Cause = "default"
	// CauseDeny: the rule denies to everybody.
	CauseDeny Cause = "deny"
	// CauseLogin: the caller has no token, and the rule asks who it is.
	CauseLogin Cause = "login"
	// CauseTenant: the caller's tenant is not one of the rule's.
	CauseTenant Cause = "tenant"
	// CauseRole: the caller has none of the rule's roles.
	CauseRole Cause = "role"
	// CauseAnnotation: the tool's hints are not those that are asked for.
	CauseAnnotation Cause = "annotation"
	// CauseUnknown: what the server says about the name could not be had.
	CauseUnknown Cause = "unknown"
	// CauseCondition: a condition is false.
	CauseCondition Cause = "condition"
	// CauseConditionError: a condition could not be evaluated.
	CauseConditionError Cause = "condition_error"
	// CauseScope: the token lacks a scope.
	CauseScope Cause = "scope"
	// CauseMembership: the membership leaves the caller without the scope.
	CauseMembership Cause = "membership"
	// CauseTools: only hidden tools name the UI resource.
	CauseTools Cause = "tools"
	// CauseArguments: the arguments of this call are not allowed.
	CauseArguments Cause = "arguments"
	// CauseRegistration: the name is not part of the registration that the
	// request came under.
	CauseRegistration Cause = "registration"
)

// ground is why a rule does not let a name through; the zero value is none.
type ground struct {
	cause   Cause
	reason  string
	missing []string
}

// against makes a decision of a ground.
func (g ground) against(rule string) Decision {
	return Decision{Rule: rule, Cause: g.cause, Reason: g.reason, Missing: g.missing}
}
