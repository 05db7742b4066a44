// Command soak keeps a gateway under mixed traffic of two tenants while its
// configuration is reloaded and what it depends on fails, and looks for wrong
// answers, for one tenant's data among the other's bytes, and for growth:
//
//	go run ./integration/soak -duration 10m -figures docs/reliability.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/caddy-mcp-app/caddy-mcp-app/integration/figures"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run() error {
	duration := flag.Duration("duration", 10*time.Minute, "how long")
	rate := flag.Int("rate", 150, "requests a second, a fraction of what the machine can do")
	document := flag.String("figures", "", "the document to write the figures to")
	reload := flag.Duration("reload", 20*time.Second, "time between two reloads")
	outage := flag.Duration("outage", time.Minute, "time between two outages")
	flag.Parse()
	s, err := newSoak(context.Background(), *rate)
	if err != nil {
		return err
	}
	defer s.close()
	s.drive(min(5*time.Second, *duration/4), 0, 0) // what is made once is there now
	before := measure()
	s.counts = &counts{}
	s.drive(*duration, *reload, *outage)
	after := measure()
	summary := fmt.Sprintf("%s at %d requests a second: %d answers, %d refused or cut during %d outages and the reloads, %d wrong, %d foreign bytes, %d reloads; "+
		"goroutines %d before and %d after, heap %.1f MiB before and %.1f MiB after",
		*duration, *rate, s.good.Load(), s.unavailable.Load(), s.outages, s.wrong.Load(), s.foreign.Load(), s.reloads,
		before.goroutines, after.goroutines, before.heap, after.heap)
	fmt.Println("soak: " + summary)
	if *document != "" {
		machine := fmt.Sprintf("%s, %d cores of %s/%s, load and gateway in one process", time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
		if err := figures.Write(*document, "integration/soak", summary+" ("+machine+").\n"); err != nil {
			return err
		}
	}
	switch {
	case s.wrong.Load() > 0 || s.foreign.Load() > 0:
		return fmt.Errorf("%d wrong answers, %d foreign bytes; the first: %s", s.wrong.Load(), s.foreign.Load(), s.said())
	case s.good.Load() == 0:
		return errors.New("nothing was answered")
	case after.goroutines > before.goroutines+100 || after.heap > before.heap+64:
		return errors.New("goroutines or memory have grown")
	}
	return nil
}

type usage struct {
	goroutines int
	heap       float64 // MiB
}

// measure waits until what has ended is gone.
func measure() usage {
	time.Sleep(2 * time.Second)
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC() // finalizers have run
	runtime.ReadMemStats(&memory)
	return usage{runtime.NumGoroutine(), float64(memory.HeapAlloc) / (1 << 20)}
}
