// Package figures writes what a run has measured into a document, between marks
// that name the run; what is outside of them is written by hand.
package figures

import (
	"bytes"
	"fmt"
	"os"
)

// Write replaces what stands between the marks of a run in a Markdown file.
func Write(file, run, text string) error {
	begin, end := "<!-- figures: written by "+run+" -->\n", "<!-- end of figures of "+run+" -->\n"
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	before, rest, found := bytes.Cut(content, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !found || !ended {
		return fmt.Errorf("writing figures: %s has no marks for %s", file, run)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(begin + "\n" + text + "\n" + end)
	b.Write(after)
	return os.WriteFile(file, b.Bytes(), 0o600)
}
