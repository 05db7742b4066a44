package links

// Target is what a link needs to know of a tool. A list of targets stands for
// the catalog of one caller; tools hidden from the caller are not in it.
type Target struct {
	// Name is the tool's name, compared byte for byte.
	Name string

	// ReadOnly says that annotations.readOnlyHint is exactly true.
	ReadOnly bool

	// Global says that the tool carries a global entrypoint.
	Global bool
}

// CheckTarget reports whether the link can land in a catalog: its tool must be
// there ([ErrUnknownTool] if not) and carry a global entrypoint, because only
// those have pages (deep link extension).
func (l AppLink) CheckTarget(catalog []Target) error {
	t, err := find(catalog, l.Tool)
	if err != nil {
		return err
	}

	if !t.Global {
		return &Error{"tool", 0, "carries no global entrypoint"}
	}

	return nil
}

// CheckNavigate checks a call to the navigate tool and returns the URL to open:
// the tool must be in the caller's catalog ([ErrUnknownTool] if not) and be
// read-only, since following a link must change nothing, and the arguments must
// pass [NavigateArguments].
func CheckNavigate(tool string, catalog []Target, arguments []byte) (AppURL, error) {
	t, err := find(catalog, tool)
	if err != nil {
		return "", err
	}

	if !t.ReadOnly {
		return "", &Error{"tool", 0, "is not read-only"}
	}

	return NavigateArguments(arguments)
}

func find(catalog []Target, name string) (Target, error) {
	for _, t := range catalog {
		if t.Name == name {
			return t, nil
		}
	}

	return Target{}, ErrUnknownTool
}
