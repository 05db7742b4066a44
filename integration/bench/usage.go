//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of CPU times in /proc (USER_HZ, 100 on every Linux
// that Go runs on).
const clockTick = 10 * time.Millisecond

// cpuTime is the user and system time that a process has used (proc(5)).
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading CPU time: %w", err)
	}
	// The name in parentheses may hold anything; fields count from behind it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, err := strconv.Atoi(string(fields[11]))
	if err != nil {
		return 0, fmt.Errorf("reading CPU time: %w", err)
	}
	system, err := strconv.Atoi(string(fields[12]))
	if err != nil {
		return 0, fmt.Errorf("reading CPU time: %w", err)
	}
	return time.Duration(user+system) * clockTick, nil
}

// memory returns a line of /proc/PID/status in MiB: VmRSS (now) or VmHWM (peak).
// Not a number if it cannot be read.
func memory(pid int, line string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return math.NaN()
	}
	_, rest, found := bytes.Cut(status, []byte(line+":"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return math.NaN()
	}
	kib, err := strconv.Atoi(string(fields[0]))
	if err != nil {
		return math.NaN()
	}
	return float64(kib) / 1024
}
