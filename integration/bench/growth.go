//go:build linux

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"
)

// coldFigures compare a token that was never seen with one that was.
type coldFigures struct {
	Warm   spread `json:"warm_cpu_us"`
	Cold   spread `json:"cold_cpu_us"`
	Verify spread `json:"bare_es256_verification_us"`
}

// measureCold sends every request with a token of its own.
func (b *bench) measureCold() (coldFigures, error) {
	p := b.path(ours)
	warm := measure{traffic: func(p *path) traffic {
		m := b.call(p, b.es256[:10])
		return traffic{addr: p.addr, append: m.append, status: 200}
	}}
	var warmCPU, coldCPU, bare []float64
	share := len(b.cold) / b.rounds
	for round := range b.rounds {
		_, cpu := b.drive(p, warm, b.duration)
		warmCPU = append(warmCPU, cpu)

		m := b.call(p, b.cold[round*share:(round+1)*share])
		before := p.cpu()
		out := fixedCount(traffic{addr: p.addr, append: m.append, status: 200}, b.ways, share, 0)
		if out.wrong > 0 {
			return coldFigures{}, fmt.Errorf("%d of %d answers wrong, the first: %w", out.wrong, out.sent, out.failed)
		}
		coldCPU = append(coldCPU, microseconds(p.cpu()-before)/float64(out.sent))
		cost, err := bareVerification()
		if err != nil {
			return coldFigures{}, err
		}
		bare = append(bare, cost)
	}
	return coldFigures{spreadOf(warmCPU), spreadOf(coldCPU), spreadOf(bare)}, nil
}

// bareVerification is the time of one ES256 verification, nothing around it.
func bareVerification() (float64, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return 0, err
	}
	digest := sha256.Sum256([]byte("a token"))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return 0, err
	}
	const count = 2000
	start := time.Now()
	for range count {
		if !ecdsa.VerifyASN1(&key.PublicKey, digest[:], signature) {
			return 0, fmt.Errorf("a good signature was refused")
		}
	}
	return microseconds(time.Since(start)) / count, nil
}

// principalFigures are the memory of many callers.
type principalFigures struct {
	Principals int     `json:"principals"`
	Before     float64 `json:"memory_before_mib"`
	After      float64 `json:"memory_after_mib"`
}

// measurePrincipals calls once as each of many callers.
func (b *bench) measurePrincipals(ctx context.Context) (principalFigures, error) {
	p, err := b.fresh(ctx, ours, nil)
	if err != nil {
		return principalFigures{}, err
	}
	defer p.proxy.stop()
	send := func(tokens []string, count int) error {
		m := b.call(p, tokens)
		out := fixedCount(traffic{addr: p.addr, append: m.append, status: 200}, b.ways, count, 0)
		if out.wrong > 0 {
			return fmt.Errorf("%d of %d answers wrong, the first: %w", out.wrong, out.sent, out.failed)
		}
		return nil
	}
	// As many calls of one caller first: what the heap takes for any traffic is
	// not the callers' doing.
	if err := send(b.rs256[:1], len(b.es256)); err != nil {
		return principalFigures{}, err
	}
	f := principalFigures{Principals: len(b.es256), Before: memory(p.proxy.Process.Pid, "VmRSS")}
	err = send(b.es256, len(b.es256))
	f.After = memory(p.proxy.Process.Pid, "VmRSS")
	return f, err
}

// curve shows the cost of one call over something that grows.
type curve struct {
	Of     string   `json:"of"`
	Sizes  []int    `json:"sizes"`
	CPU    []spread `json:"cpu_us_per_call"`
	Growth float64  `json:"last_to_first"`
}

// measureGrowth shows that a call costs the same whatever else there is.
func (b *bench) measureGrowth(ctx context.Context) ([]curve, error) {
	sizes := []int{10, 100, 1000, 10_000}
	if b.duration < time.Second {
		sizes = []int{10, 1000}
	}
	tools := curve{Of: "tools the server lists"}
	rules := curve{Of: "rules"}
	principals := curve{Of: "callers"}
	open := curve{Of: "open streams"}
	for _, size := range sizes {
		for _, c := range []struct {
			*curve
			rules, tokens, streams, tools int
		}{
			{&tools, 0, 10, 0, size}, {&rules, size, 10, 0, 10}, {&principals, 0, size, 0, 10}, {&open, 0, 10, size, 10},
		} {
			cpu, err := b.callCost(ctx, c.rules, min(c.tokens, len(b.es256)), c.streams, c.tools)
			if err != nil {
				return nil, fmt.Errorf("%d %s: %w", size, c.Of, err)
			}
			c.Sizes = append(c.Sizes, size)
			c.CPU = append(c.CPU, cpu)
		}
	}
	made := []curve{tools, rules, principals, open}
	for i, c := range made {
		made[i].Growth = ratio(c.CPU[len(c.CPU)-1].Median, c.CPU[0].Median)
	}
	return made, nil
}

// callCost is the CPU time of a call on a gateway of its own.
func (b *bench) callCost(ctx context.Context, rules, tokens, streams, tools int) (spread, error) {
	numbers := make([]int, rules)
	for i := range numbers {
		numbers[i] = i
	}
	p, err := b.fresh(ctx, ours, numbers)
	if err != nil {
		return spread{}, err
	}
	defer p.proxy.stop()
	open, failed := b.openStreams(p, streams)
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	if failed > 0 {
		return spread{}, fmt.Errorf("%d of %d streams could not be opened", failed, streams)
	}
	m := b.call(p, b.es256[:tokens])
	m.query = fmt.Sprintf("?tools=%d", tools)
	list := message{host: p.addr, query: m.query, token: m.token, method: "tools/list"}
	if out := fixedCount(traffic{addr: p.addr, append: list.append, status: 200}, 1, 3, 0); out.wrong > 0 {
		return spread{}, out.failed
	}
	calls := measure{traffic: func(*path) traffic { return traffic{addr: p.addr, append: m.append, status: 200} }}
	b.drive(p, calls, b.warmUp)
	if out := fixedCount(calls.traffic(p), b.ways, tokens, 0); out.wrong > 0 { // every caller once
		return spread{}, out.failed
	}
	var cpu []float64
	for range b.rounds {
		out, cost := b.drive(p, calls, b.duration)
		if out.wrong > 0 {
			return spread{}, out.failed
		}
		cpu = append(cpu, cost)
	}
	return spreadOf(cpu), nil
}

// path finds one by its name.
func (b *bench) path(name string) *path {
	for _, p := range b.paths {
		if p.name == name {
			return p
		}
	}
	return nil
}
