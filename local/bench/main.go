// Command bench measures the service as its users meet it: the real binary on a folder of its own, real HTTP in and
// out. It prints what it saw and judges nothing; targets stand in ARCHITECTURE.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings is what the flags say.
type settings struct {
	binary   string
	tenants  int
	events   int
	clients  int
	only     string
	profile  string
	duration time.Duration
}

func run(ctx context.Context, args []string) error {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&s.binary, "binary", "", "the service's binary; left out, it is built")
	flags.IntVar(&s.tenants, "tenants", 20, "companies to spread the load over")
	flags.IntVar(&s.events, "events", 20_000, "events of the throughput run")
	flags.IntVar(&s.clients, "publishers", 32, "publishers of the throughput run")
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "how long each paced run takes")
	flags.StringVar(&s.only, "only", "", "one of reads, latency, throughput, hanging, restart")
	flags.StringVar(&s.profile, "profile", "", "write a CPU profile of the service during the run to this file (needs --only)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	scenarios := []struct {
		name string
		run  func(context.Context, settings) error
	}{
		{"reads", reads}, {"latency", latency}, {"throughput", throughput}, {"hanging", hanging}, {"restart", restart},
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
