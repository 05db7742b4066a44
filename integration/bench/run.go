//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// figures are what one path did in one case, over all rounds.
type figures struct {
	Path       string  `json:"path"`
	Throughput spread  `json:"requests_per_second"`
	CPU        spread  `json:"cpu_us_per_request"`
	Rate       float64 `json:"open_loop_rate,omitempty"`
	P50        spread  `json:"p50_us"`
	P99        spread  `json:"p99_us"`
	P999       spread  `json:"p99.9_us"`
	PeakMemory float64 `json:"peak_memory_mib,omitempty"`
	Wrong      int     `json:"wrong_answers"`
}

// result is one case.
type result struct {
	Name  string     `json:"name"`
	What  string     `json:"what"`
	Paths []*figures `json:"paths"`
}

func (r *result) of(path string) *figures {
	i := slices.IndexFunc(r.Paths, func(f *figures) bool { return f.Path == path })
	if i < 0 {
		return nil
	}
	return r.Paths[i]
}

// samples are the figures of single rounds.
type samples struct{ throughput, cpu, p50, p99, p999 []float64 }

// run measures one case: rounds at saturation, then rounds by the clock.
func (b *bench) run(m measure) *result {
	taking := slices.DeleteFunc(slices.Clone(b.paths), func(p *path) bool { return !slices.Contains(m.paths, p.name) })
	made := &result{Name: m.Name, What: m.What}
	taken := make([]samples, len(taking))
	for _, p := range taking {
		made.Paths = append(made.Paths, &figures{Path: p.name})
		b.drive(p, m, b.warmUp) // fills what can be filled: connections, caches
	}
	for range b.rounds {
		for i, p := range taking {
			out, cpu := b.drive(p, m, b.duration)
			made.Paths[i].count(p, out)
			taken[i].throughput = append(taken[i].throughput, float64(out.sent)/out.elapsed.Seconds())
			taken[i].cpu = append(taken[i].cpu, cpu)
		}
	}
	for i := range taking {
		made.Paths[i].Throughput, made.Paths[i].CPU = spreadOf(taken[i].throughput), spreadOf(taken[i].cpu)
	}
	b.runOpen(m, taking, made, taken)
	for i, p := range taking {
		f := made.Paths[i]
		f.P50, f.P99, f.P999 = spreadOf(taken[i].p50), spreadOf(taken[i].p99), spreadOf(taken[i].p999)
		if p.proxy != nil {
			f.PeakMemory = memory(p.proxy.Process.Pid, "VmHWM")
		}
	}
	return made
}

// runOpen compares the waits at a rate that the slowest of the Caddies holds with
// ease. The other peers are left out: at that rate most would be saturated.
func (b *bench) runOpen(m measure, taking []*path, made *result, taken []samples) {
	rate := math.Inf(1)
	for i, p := range taking {
		if p.name == stock || p.name == ours {
			rate = min(rate, made.Paths[i].Throughput.Median*openShare)
		}
	}
	if math.IsInf(rate, 1) || rate < 1 {
		return
	}
	for range b.rounds {
		for i, p := range taking {
			if !slices.Contains(caddies, p.name) {
				continue
			}
			out := openLoop(m.traffic(p), 64, rate, b.duration, b.first())
			made.Paths[i].count(p, out)
			made.Paths[i].Rate = rate
			taken[i].p50 = append(taken[i].p50, microseconds(quantile(out.waits, 0.5)))
			taken[i].p99 = append(taken[i].p99, microseconds(quantile(out.waits, 0.99)))
			taken[i].p999 = append(taken[i].p999, microseconds(quantile(out.waits, 0.999)))
		}
	}
}

// openShare is the share of the saturation that the open loop uses.
const openShare = 0.4

// drive runs the closed loop and returns the CPU time of the proxy for each
// request, in microseconds.
func (b *bench) drive(p *path, m measure, d time.Duration) (outcome, float64) {
	ways := b.ways
	if m.ways > 0 {
		ways = m.ways
	}
	if b.profiles != "" && p.name == ours && d == b.duration {
		defer b.profile(p, m, d)()
	}
	before := p.cpu()
	out := closedLoop(m.traffic(p), ways, d, b.first())
	return out, microseconds(p.cpu()-before) / float64(out.sent)
}

// cpu is the time the path's proxy has used; for the direct path there is none.
func (p *path) cpu() time.Duration {
	if p.proxy == nil {
		return 0
	}
	used, err := cpuTime(p.proxy.Process.Pid)
	if err != nil {
		return 0 // it died; its answers will say so
	}
	return used
}

func (f *figures) count(p *path, out outcome) {
	if out.wrong > 0 {
		fmt.Printf("  %s: %d of %d answers wrong, the first: %v\n", p.name, out.wrong, out.sent, out.failed)
	}
	f.Wrong += out.wrong
}

// first gives each run its own request numbers, so that nothing is repeated that
// a case wants to be new.
func (b *bench) first() uint64 {
	b.numbers += 10_000_000
	return b.numbers
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
