package caddymodule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/caddy-mcp-app/caddy-mcp-app/links"
)

// reportFault says why text is refused and where, and returns the exit code.
func reportFault(cmd *cobra.Command, asJSON bool, err error, text string) int {
	fault := faultOf(err)
	if asJSON {
		printJSON(cmd, map[string]any{"valid": false, "error": fault})
	}
	if errors.Is(err, links.ErrNotAppLink) {
		cmd.PrintErrln("not a plugin app link: such a link is <scheme>://plugins/<plugin>/app/<tool>?path=<path> with the scheme codex or chatgpt, or begins with https://chatgpt.com/plugins/")
		return exitFindings
	}
	cmd.PrintErrln(err.Error())
	if text != "" {
		cmd.PrintErrln(caret(text, fault.Offset))
	}
	return exitFindings
}

// faultOf returns what is known of an error of package links.
func faultOf(err error) links.Error {
	if fault, ok := errors.AsType[*links.Error](err); ok {
		return *fault
	}
	return links.Error{Part: "link", Reason: err.Error()}
}

// How much of a text is shown on either side of a fault, in columns.
const (
	caretBefore = 60
	caretAfter  = 16
)

// caret shows text with a mark under the byte at offset. Everything but printable
// ASCII is escaped: for the mark to stand right, and because a terminal would
// act on some of it.
func caret(text string, offset int) string {
	offset = min(offset, len(text))
	before, after := escaped(text[:offset], isASCII), escaped(text[offset:], isASCII)
	if len(before) > caretBefore {
		before = "..." + before[len(before)-caretBefore:]
	}
	if len(after) > caretAfter {
		after = after[:caretAfter] + "..."
	}
	return "  " + before + after + "\n  " + strings.Repeat(" ", len(before)) + "^"
}

// visible writes what cannot be seen as escapes: a query may hold characters
// that reorder the text around them.
func visible(s string) string { return escaped(s, strconv.IsPrint) }

func isASCII(r rune) bool { return r >= ' ' && r < 0x7F }

// escaped writes every character but those that pass as its code.
func escaped(s string, passes func(rune) bool) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !passes(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case passes(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[size:]
	}
	return b.String()
}
