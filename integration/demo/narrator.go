package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// narrator prints the transcript, in colours only on a terminal.
type narrator struct {
	w      io.Writer
	colour bool
	steps  int
}

func newNarrator(f *os.File) *narrator {
	info, err := f.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &narrator{w: f, colour: terminal && os.Getenv("NO_COLOR") == ""}
}

const (
	bold  = "1"
	dim   = "2"
	green = "32"
	cyan  = "36"
)

func (n *narrator) paint(code, text string) string {
	if !n.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// title begins a part that is not a step.
func (n *narrator) title(text string) {
	fmt.Fprintf(n.w, "\n%s\n\n", n.paint(bold, text))
}

// step begins the next step with a sentence on what it is about.
func (n *narrator) step(heading, about string) {
	n.steps++
	fmt.Fprintf(n.w, "\n%s\n", n.paint(bold, fmt.Sprintf("%d. %s", n.steps, heading)))
	for line := range strings.SplitSeq(about, "\n") {
		fmt.Fprintf(n.w, "   %s\n", line)
	}
	fmt.Fprintln(n.w)
}

func (n *narrator) text(format string, args ...any) {
	fmt.Fprintf(n.w, "   "+format+"\n", args...)
}

// request shows what is sent.
func (n *narrator) request(line string) {
	fmt.Fprintf(n.w, "   %s %s\n", n.paint(cyan, "→"), line)
}

// answer shows what comes back, long values cut.
func (n *narrator) answer(label, value string) {
	const limit = 220
	if runes := []rune(value); len(runes) > limit {
		value = string(runes[:limit]) + " …"
	}
	if label != "" {
		label += "  "
	}
	fmt.Fprintf(n.w, "   %s %s%s\n", n.paint(cyan, "←"), n.paint(dim, label), value)
}

// check shows that an expectation was met, or fails the demo.
func (n *narrator) check(ok bool, expectation string) error {
	if !ok {
		return fmt.Errorf("step %d: not as expected: %s", n.steps, expectation)
	}
	fmt.Fprintf(n.w, "   %s %s\n", n.paint(green, "✓"), expectation)
	return nil
}
