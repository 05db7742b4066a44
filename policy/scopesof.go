package policy

// ScopesOf lists the scopes that the deciding rule asks for, whether or not the
// caller has them. It answers for documents that tell clients what to ask for.
func (v *View) ScopesOf(kind Kind, name string) []string {
	rule := v.policy.find(kind, name)
	if rule == nil {
		return nil
	}
	return rule.Scopes
}
