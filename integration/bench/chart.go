//go:build linux

package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// chart draws the CPU time of each case as a ratio to stock Caddy, a bar for
// each case, with the line at 1.
func (r *report) chart() string {
	const (
		row, left, width = 26, 190, 620
		perUnit          = 160.0
	)
	type bar struct {
		name  string
		ratio float64
	}
	var bars []bar
	for _, c := range r.Cases {
		if value := r.compare(c.Name, ours, stock, func(f *figures) float64 { return f.CPU.Median }); !math.IsNaN(value) {
			bars = append(bars, bar{c.Name, value})
		}
	}
	height := row*len(bars) + 60
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="13" role="img" aria-label="CPU per request, mcp_app to stock Caddy">`, width, height, width, height)
	b.WriteString(`<style>text{fill:#24292f}.line{stroke:#24292f}@media (prefers-color-scheme:dark){text{fill:#e6edf3}.line{stroke:#e6edf3}}</style>`)
	fmt.Fprintf(&b, `<text x="10" y="20">CPU per request, mcp_app : stock Caddy</text>`)
	for i, made := range bars {
		y := 36 + i*row
		// Long bars are cut: the number beside them says how long.
		length := min(made.ratio*perUnit, width-left-60)
		fmt.Fprintf(&b, `<text x="10" y="%d">%s</text><rect x="%d" y="%d" width="%.0f" height="%d" fill="#1f8fbf"/><text x="%.0f" y="%d">%.2f</text>`,
			y+14, html.EscapeString(made.name), left, y, length, row-8, left+length+6, y+14, made.ratio)
	}
	fmt.Fprintf(&b, `<line class="line" x1="%.0f" x2="%.0f" y1="30" y2="%d" stroke-dasharray="4 3"/></svg>`, left+perUnit, left+perUnit, height-20)
	return b.String() + "\n"
}
