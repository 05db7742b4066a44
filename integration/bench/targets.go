//go:build linux

package main

import (
	"fmt"
	"math"
	"strings"
)

// target is a promise and what became of it in this run.
type target struct {
	What     string   `json:"what"`
	Wanted   string   `json:"wanted"`
	Measured *float64 `json:"measured"` // null: not measured in this run
	Held     bool     `json:"held"`
}

func atLeast(what string, bound, measured float64) target {
	return newTarget(what, fmt.Sprintf("≥ %g", bound), measured, measured >= bound)
}

func atMost(what string, bound, measured float64) target {
	return newTarget(what, fmt.Sprintf("≤ %g", bound), measured, measured <= bound)
}

func newTarget(what, wanted string, measured float64, held bool) target {
	if math.IsNaN(measured) {
		return target{What: what, Wanted: wanted}
	}
	return target{what, wanted, &measured, held}
}

// targets compares with what the project wants to be.
func (r *report) targets() []target {
	throughput := func(name, path, other string) float64 {
		return r.compare(name, path, other, func(f *figures) float64 { return f.Throughput.Median })
	}
	cpu := func(name, path, other string) float64 {
		return r.compare(name, path, other, func(f *figures) float64 { return f.CPU.Median })
	}
	all := []target{
		atLeast("call: throughput, ours : stock Caddy", 0.93, throughput("call", ours, stock)),
		atMost("call: CPU, ours : stock Caddy", 1.10, cpu("call", ours, stock)),
		atMost("call: added p50, µs", 50, r.added("call", func(f *figures) float64 { return f.P50.Median })),
		atMost("call: added p99, µs", 300, r.added("call", func(f *figures) float64 { return f.P99.Median })),
		atLeast("call: throughput, ours : oauth2-proxy", 3, throughput("call", ours, oauth2Proxy)),
		atMost("call: CPU, ours : oauth2-proxy", 0.35, cpu("call", ours, oauth2Proxy)),
		atLeast("call: throughput, ours : vmcp", 10, throughput("call", ours, vmcp)),
		atLeast("repeated list of 2,000 tools: throughput, ours : stock Caddy", 0.80, throughput("list-2000", ours, stock)),
		atLeast("changing list of 2,000 tools: throughput, ours : stock Caddy", 0.45, throughput("list-2000-changing", ours, stock)),
	}
	if c := r.Cold; c != nil {
		all = append(all, atMost("cold token: added CPU beyond the warm call, in bare verifications", 1.15, ratio(c.Cold.Median-c.Warm.Median, c.Verify.Median)))
	}
	if plain, with := streamOf(r.Streams, stock), streamOf(r.Streams, ours); plain != nil && with != nil {
		all = append(all, atMost("events: added delay at the median, µs", 50, with.P50.Median-plain.P50.Median),
			atMost("events: added wait for the first, µs", 200, with.First.Median-plain.First.Median))
	}
	for _, f := range r.Idle {
		for _, base := range r.Idle {
			if f.Path == ours && base.Path == stock && f.Streams == base.Streams {
				all = append(all, atMost(fmt.Sprintf("%d idle streams: memory, ours : stock Caddy", f.Streams), 1.15, ratio(f.Open, base.Open)))
			}
		}
	}
	if c := r.Principals; c != nil {
		all = append(all, atMost(fmt.Sprintf("%d callers: memory above idle, MiB", c.Principals), 25, c.After-c.Before))
	}
	for _, c := range r.Growth {
		all = append(all, atMost("growth of a call with "+c.Of+", last : first", 1.10, c.Growth))
	}
	return all
}

func (r *report) compare(name, path, other string, figure func(*figures) float64) float64 {
	for _, c := range r.Cases {
		if a, b := c.of(path), c.of(other); c.Name == name && a != nil && b != nil && a.Wrong == 0 && b.Wrong == 0 {
			return ratio(figure(a), figure(b))
		}
	}
	return math.NaN()
}

// added is how much more than stock Caddy a case takes.
func (r *report) added(name string, figure func(*figures) float64) float64 {
	for _, c := range r.Cases {
		if a, b := c.of(ours), c.of(stock); c.Name == name && a != nil && b != nil {
			return figure(a) - figure(b)
		}
	}
	return math.NaN()
}

func streamOf(all []streamFigures, path string) *streamFigures {
	for i := range all {
		if all[i].Path == path {
			return &all[i]
		}
	}
	return nil
}

func targetTable(targets []target) string {
	var b strings.Builder
	b.WriteString("| target | wanted | measured | |\n| --- | --- | --- | --- |\n")
	for _, t := range targets {
		measured, verdict := "not measured", ""
		if t.Measured != nil {
			measured, verdict = fmt.Sprintf("%.2f", *t.Measured), "missed"
			if t.Held {
				verdict = "held"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.What, t.Wanted, measured, verdict)
	}
	return b.String()
}
