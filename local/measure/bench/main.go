// Command bench measures the service as its users see it: the real binary on a new data folder, over real HTTP. It only
// prints its measurements; README.md has the targets.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"time"
)

func main() {
	debug.SetGCPercent(1000) // a collection takes the cores from the service
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings holds the flags.
type settings struct {
	binary   string
	args     []string // of the binary
	tenants  int
	events   int
	clients  int
	only     string
	profile  string
	duration time.Duration
	sizes    string // flat: the companies' numbers of items, in rising order
	gets     string // flat: the operations to ask for, with commas; "": all
	folder   string // flat: where the filled companies are kept; "": nowhere
	plan     string // of the companies; "": free
	ordered  bool   // that integration receives the events about one record, in order
	roots    string // certificates that the service trusts; "": the system's
	apart    bool   // a second integration receives the deliveries, so that disabling it leaves the publishers alone
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == leastCommand {
		return runLeast(ctx, args[1])
	}
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&s.binary, "binary", "", "the service's binary (default: build it)")
	flags.IntVar(&s.tenants, "tenants", 20, "companies to spread the load over")
	flags.IntVar(&s.events, "events", 20_000, "number of events in the throughput run")
	flags.IntVar(&s.clients, "publishers", 32, "number of publishers in the throughput run")
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "duration of each paced run")
	flags.StringVar(&s.only, "only", "", "run only this scenario: direct, floor, reads, flat, latency, throughput, hanging, slow, ordered, recovery, backlog, hostile, sources, flood or restart")
	flags.StringVar(&s.sizes, "sizes", "1000,100000", "flat: the companies' numbers of items, in rising order; 10,000,000 take 8 GB of disk")
	flags.StringVar(&s.gets, "gets", "", "flat: ask for these operations only, such as list-memories,list-goals")
	flags.StringVar(&s.folder, "folder", "", "flat: keep the filled companies in this folder, and use those that lie there")
	flags.StringVar(&s.profile, "profile", "", "write a CPU profile of the service during the run to this file (needs --only)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	scenarios := []struct {
		name string
		run  func(context.Context, settings) error
	}{
		{"direct", direct}, {"floor", floor}, {"reads", reads}, {"flat", flat}, {"latency", latency}, {"throughput", throughput}, {"hanging", hanging}, {"slow", slow},
		{"ordered", ordered}, {"recovery", recovery}, {"backlog", backlog}, {"hostile", hostile}, {"sources", sources}, {"flood", flood}, {"restart", restart},
	}
	for _, scenario := range scenarios {
		if s.only != "" && s.only != scenario.name {
			continue
		}
		fmt.Printf("== %s\n", scenario.name)
		if err := scenario.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", scenario.name, err)
		}
	}
	return nil
}
