package pages

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"strings"
)

//go:embed walk.txt
var walkText string

// Step is one step of the walk of a request.
type Step struct {
	What      string
	Function  string // with its type, such as View.Decide
	File      string // from the root of the repository
	Otherwise string
}

// Steps reads the walk from its text.
func Steps() ([]Step, error) {
	var steps []Step
	for line := range strings.Lines(walkText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%q is not what | where | otherwise", line)
		}
		function, file, ok := strings.Cut(parts[1], ", ")
		if !ok {
			return nil, fmt.Errorf("%q names no function and file", line)
		}
		steps = append(steps, Step{parts[0], function, file, parts[2]})
	}
	return steps, nil
}

// Measures of the drawing, in its own units.
const (
	walkWidth  = 860
	walkTop    = 56
	stepHeight = 48
	stepGap    = 22
)

const walkStyle = `<style>
text { font: 14px system-ui, sans-serif; fill: #1c2733 }
.where { font: 12px ui-monospace, monospace; fill: #51606f }
.else { fill: #8a2c1d }
rect { fill: #f3f6fa; stroke: #7d8c9c }
path { stroke: #7d8c9c; fill: none; marker-end: url(#a) }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .where { fill: #9fb0c0 } .else { fill: #ff9d8a } rect { fill: #1d2631 } }
</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8" style="marker-end:none"/></marker></defs>
`

// Walk draws docs/walk.svg from walk.txt.
func Walk(string) ([]byte, error) {
	steps, err := Steps()
	if err != nil {
		return nil, err
	}
	height := walkTop + len(steps)*(stepHeight+stepGap) + 34
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="The walk of a request">`+"\n", walkWidth, height)
	b.WriteString(walkStyle)
	text := func(x, y int, class, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d"`, x, y)
		if class != "" {
			fmt.Fprintf(&b, ` class="%s"`, class)
		}
		b.WriteString(">")
		_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
		b.WriteString("</text>\n")
	}
	text(40, 24, "", "A client's request")
	for i, step := range steps {
		y := walkTop + i*(stepHeight+stepGap)
		fmt.Fprintf(&b, `<path d="M220 %dV%d"/>`+"\n", y-stepGap, y)
		fmt.Fprintf(&b, `<rect x="40" y="%d" width="430" height="%d" rx="6"/>`+"\n", y, stepHeight)
		text(54, y+20, "", fmt.Sprintf("%d. %s", i+1, step.What))
		text(54, y+38, "where", step.Function+"  "+step.File)
		fmt.Fprintf(&b, `<path d="M470 %dH510"/>`+"\n", y+stepHeight/2)
		text(518, y+stepHeight/2+5, "else", step.Otherwise)
	}
	end := walkTop + len(steps)*(stepHeight+stepGap)
	fmt.Fprintf(&b, `<path d="M220 %dV%d"/>`+"\n", end-stepGap, end)
	text(40, end+18, "", "The client's answer: every byte that did not have to change is as the server wrote it")
	b.WriteString("</svg>\n")
	return []byte(b.String()), nil
}
