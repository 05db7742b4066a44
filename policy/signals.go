package policy

import (
	"fmt"
	"maps"
	"slices"
)

// CheckSignals refuses a request that names another tenant than the caller's
// in some other place: a header, a tool argument. Such a place never chooses
// the tenant; but a server behind us may look there, so all that say anything
// must agree. signals holds values by place, in words fit for a log: nil for
// one that says nothing, a string, or a list of strings for a header with
// several lines. Anything else is refused, an empty string too. All errors wrap
// [ErrTenant].
func CheckSignals(tenant string, signals map[string]any) error {
	for _, place := range slices.Sorted(maps.Keys(signals)) {
		var values []string
		switch v := signals[place].(type) {
		case nil:
		case string:
			values = []string{v}
		case []string:
			values = v
		default:
			return fmt.Errorf("%w: %s is %T, not a string", ErrTenant, place, v)
		}
		for _, value := range values {
			if value != tenant || tenant == "" {
				return fmt.Errorf("%w: %s says %q, the caller is of %q", ErrTenant, place, value, tenant)
			}
		}
	}
	return nil
}
