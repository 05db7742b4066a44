//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// report is everything one run found out.
type report struct {
	When       string            `json:"when"`
	Machine    string            `json:"machine"`
	Rounds     int               `json:"rounds"`
	Seconds    float64           `json:"seconds_per_round"`
	Cases      []*result         `json:"cases"`
	Cold       *coldFigures      `json:"cold_tokens,omitempty"`
	Principals *principalFigures `json:"many_callers,omitempty"`
	Streams    []streamFigures   `json:"streams,omitempty"`
	Idle       []idleFigures     `json:"idle_streams,omitempty"`
	Reload     []reloadFigures   `json:"reload,omitempty"`
	Growth     []curve           `json:"growth,omitempty"`
	Targets    []target          `json:"targets"`
}

// measureAll runs every chosen case and prints what it finds.
func (b *bench) measureAll(ctx context.Context) (*report, error) {
	r := &report{
		When: time.Now().UTC().Format("2006-01-02"), Machine: machine(), Rounds: b.rounds, Seconds: b.duration.Seconds(),
	}
	for _, m := range b.measures() {
		if !b.chosen(m.Name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fmt.Println(m.Name)
		made := b.run(m)
		r.Cases = append(r.Cases, made)
		fmt.Print(made.table())
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"cold", func() error { return keep(&r.Cold)(b.measureCold()) }},
		{"streams", func() (err error) { r.Streams, err = b.measureStreams(); return err }},
		{"reload", func() (err error) { r.Reload, err = b.measureReload(); return err }},
		{"principals", func() error { return keep(&r.Principals)(b.measurePrincipals(ctx)) }},
		{"idle", func() error {
			for _, count := range b.streams {
				made, err := b.measureIdle(ctx, count)
				if err != nil {
					return err
				}
				r.Idle = append(r.Idle, made...)
			}
			return nil
		}},
		{"growth", func() (err error) { r.Growth, err = b.measureGrowth(ctx); return err }},
	} {
		if !b.chosen(step.name) {
			continue
		}
		fmt.Println(step.name)
		if err := step.do(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	fmt.Print(r.others())
	r.Targets = r.targets()
	fmt.Print(targetTable(r.Targets))
	return r, nil
}

// keep stores a value that came with an error.
func keep[T any](to **T) func(T, error) error {
	return func(value T, err error) error {
		*to = &value
		return err
	}
}

// The marks between which the figures stand in performance.md; what is outside
// is written by hand.
const (
	figuresBegin = "<!-- figures: written by go run ./integration/bench -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// write puts the figures into a folder.
func (r *report) write(dir string) error {
	encoded, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "performance.json"), append(encoded, '\n'), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "performance.svg"), []byte(r.chart()), 0o600); err != nil {
		return err
	}
	file := filepath.Join(dir, "performance.md")
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		text, err = []byte("# Performance\n\n"+figuresBegin+figuresEnd), nil
	}
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(figuresBegin))
	_, after, ended := bytes.Cut(rest, []byte(figuresEnd))
	if !found || !ended {
		return fmt.Errorf("%s has no marks for the figures", file)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(figuresBegin + "\n" + r.markdown() + "\n" + figuresEnd)
	b.Write(after)
	return os.WriteFile(file, b.Bytes(), 0o600)
}

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s on %s; %d rounds of %g s, paths interleaved. Medians, with the lowest and highest round in brackets.\n\n![CPU per request as a ratio to stock Caddy](performance.svg)\n\n", r.When, r.Machine, r.Rounds, r.Seconds)
	b.WriteString("### Against the targets\n\n" + targetTable(r.Targets))
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "\n### `%s`: %s\n\n%s", c.Name, c.What, c.table())
	}
	b.WriteString("\n" + r.others())
	return b.String()
}

// table shows one case.
func (r *result) table() string {
	var b strings.Builder
	b.WriteString("| path | requests/s | CPU µs/request | p50 µs | p99 µs | p99.9 µs | peak MiB | requests/s : stock | CPU : stock |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	base := r.of(stock)
	for _, f := range r.Paths {
		throughput, cpu := math.NaN(), math.NaN()
		if base != nil {
			throughput, cpu = ratio(f.Throughput.Median, base.Throughput.Median), ratio(f.CPU.Median, base.CPU.Median)
		}
		if f.Path == direct {
			cpu = math.NaN()
		}
		name := f.Path
		if f.Wrong > 0 {
			name += fmt.Sprintf(" (%d wrong answers)", f.Wrong)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, f.Throughput.text(0), f.CPU.text(1), f.P50.text(0), f.P99.text(0), f.P999.text(0),
			number(f.PeakMemory, 0), number(throughput, 2), number(cpu, 2))
	}
	return b.String()
}

// text writes a figure with its spread.
func (s spread) text(digits int) string {
	if math.IsNaN(s.Median) || s == (spread{}) {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median, digits), number(s.Min, digits), number(s.Max, digits))
}

func number(value float64, digits int) string {
	if math.IsNaN(value) || value == 0 && digits == 0 {
		return "–"
	}
	return fmt.Sprintf("%.*f", digits, value)
}

// others shows what has tables of its own.
func (r *report) others() string {
	var b strings.Builder
	if c := r.Cold; c != nil {
		fmt.Fprintf(&b, "### Cold tokens\n\n| CPU µs/request | |\n| --- | --- |\n| warm token | %s |\n| every request a new token | %s |\n| one bare ES256 verification | %s |\n\n",
			c.Warm.text(1), c.Cold.text(1), c.Verify.text(1))
	}
	if len(r.Streams) > 0 {
		b.WriteString("### Streams of 1,000 small events, one each millisecond\n\n| path | first event µs | delay p50 µs | delay p99 µs | CPU µs/event |\n| --- | --- | --- | --- | --- |\n")
		for _, f := range r.Streams {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.Path, f.First.text(0), f.P50.text(0), f.P99.text(0), f.CPU.text(1))
		}
		b.WriteString("\n")
	}
	if len(r.Idle) > 0 {
		b.WriteString("### Idle streams\n\n| path | streams | memory before MiB | open MiB | KiB/stream | failed |\n| --- | --- | --- | --- | --- | --- |\n")
		for _, f := range r.Idle {
			fmt.Fprintf(&b, "| %s | %d | %.0f | %.0f | %.1f | %d |\n", f.Path, f.Streams, f.Before, f.Open, (f.Open-f.Before)*1024/float64(f.Streams), f.Failed)
		}
		b.WriteString("\n")
	}
	if c := r.Principals; c != nil {
		fmt.Fprintf(&b, "### Many callers\n\n%d callers, one call each: memory %.0f MiB before, %.0f MiB after.\n\n", c.Principals, c.Before, c.After)
	}
	if len(r.Reload) > 0 {
		b.WriteString("### Reload under load, 1,000 requests a second\n\n| path | reloads | requests | wrong | p50 µs | p99 µs | slowest µs |\n| --- | --- | --- | --- | --- | --- | --- |\n")
		for _, f := range r.Reload {
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %.0f | %.0f | %.0f |\n", f.Path, f.Reloads, f.Sent, f.Wrong, f.P50, f.P99, f.Max)
		}
		b.WriteString("\n")
	}
	if len(r.Growth) > 0 {
		b.WriteString("### Growth: CPU µs of one call\n\n")
		for _, c := range r.Growth {
			fmt.Fprintf(&b, "- %s:", c.Of)
			for i, size := range c.Sizes {
				fmt.Fprintf(&b, " %d → %s;", size, c.CPU[i].text(1))
			}
			fmt.Fprintf(&b, " last to first %.2f\n", c.Growth)
		}
		b.WriteString("\n")
	}
	return b.String()
}
