// Command bench measures what the gateway costs beside a plain Caddy.
//
//	go run ./integration/bench            # about twenty minutes, writes docs/performance.md
//	go run ./integration/bench -quick     # two minutes, prints only
//
// It starts one MCP server, one issuer of keys and up to five paths to the same
// server: direct, stock Caddy (the same version, without this module), this
// module, oauth2-proxy and ToolHive's vmcp. Every path is driven with the same
// requests and the same tokens. What follows from one machine alone is left to
// the reader: figures count as ratios between paths of one run.
//
// How it measures:
//
//   - Rounds are interleaved: each round visits every path once, so that what
//     disturbs the machine disturbs all of them. Tables show the median of the
//     rounds and their spread.
//   - Closed loop: a fixed number of connections, each sending its next request
//     when the last was answered, finds the throughput at saturation.
//   - Open loop: requests leave by a clock at a rate below the saturation of the
//     slowest path compared, and latency counts from the time a request should
//     have left, so that a stalled proxy is charged for the wait it caused
//     (no coordinated omission).
//   - CPU per request and peak memory are the operating system's own account of
//     the proxy's process, not a profile.
//   - Where the machine has two cores or more, the proxy has the first for
//     itself; clients and server share the second.
//   - Every answer is read and judged. A round with wrong answers is reported as
//     such and never as fast.
//
// It needs Linux. oauth2-proxy and vmcp are built with `go install` at pinned
// versions, the latter only with -vmcp since it takes minutes.
package main
