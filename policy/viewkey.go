package policy

import (
	"slices"
	"strconv"
	"strings"
)

// Key names everything about the caller that decides which tools the view
// shows, allows and asks scopes for: two views of one policy with the same key
// answer alike. It reports false where an answer may depend on more than tenant,
// scopes and roles: on conditions, on the server's annotations, on a membership
// that withholds scopes, and in a view of a few tools only.
//
// It is for what was worked out from answers of the view and may be used again;
// what a caller may do is still decided afresh.
func (v *View) Key() (string, bool) {
	roles, err := v.roles()
	if err != nil || v.within != nil || v.policy.conditional || v.policy.reads.Annotations || v.principal.withheld != nil {
		return "", false
	}
	var b strings.Builder
	if v.anonymous() {
		b.WriteByte('a')
	}
	for _, list := range [][]string{{v.principal.Tenant}, v.principal.Scopes, roles} {
		list = slices.Sorted(slices.Values(list))
		b.WriteString(strconv.Itoa(len(list)))
		for _, s := range list {
			b.WriteString(":" + strconv.Itoa(len(s)) + ":")
			b.WriteString(s)
		}
		b.WriteByte(';')
	}
	return b.String(), true
}
