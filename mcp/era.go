package mcp

import "time"

// Era is one of the two protocol generations. It is a property of each
// message: both may travel over one endpoint at the same time.
type Era int

// The eras.
const (
	// Legacy: revisions up to 2025-11-25.
	Legacy Era = iota
	// Modern: revision 2026-07-28 and later.
	Modern
)

// FirstModernVersion is the first revision without sessions (MCP 2026-07-28,
// basic/versioning).
const FirstModernVersion = "2026-07-28"

// String returns the word used in logs and metrics.
func (e Era) String() string {
	if e == Modern {
		return "modern"
	}
	return "legacy"
}

// EraOf tells to which era a protocol version belongs. Versions are compared as
// text, as the SDKs do. Anything that does not look like a date is legacy: no
// modern revision was ever named otherwise.
func EraOf(version string) Era {
	if len(version) != len(time.DateOnly) || version[4] != '-' || version[7] != '-' || version < FirstModernVersion || version[0] > '9' {
		return Legacy
	}
	return Modern
}
