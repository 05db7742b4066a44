package policy

// Roles returns all roles of the caller, by membership and by claim. The error
// says that the claim could not be read; the roles beside it count.
func (v *View) Roles() ([]string, error) { return v.roles() }
