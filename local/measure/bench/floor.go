package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// floorRounds sets how often the floor scenario measures each side, and steadyRate the pace of its latency run.
const (
	floorRounds = 7
	steadyRate  = 300
)

// side is the service or the floor: how to start it, and what its rounds have shown.
type side struct {
	name string
	open func(context.Context, settings, *arrivals) (*bed, error)
	seen []figures
}

// figures holds what a round shows.
type figures struct {
	rate, cpu, p50 float64 // deliveries a second, CPU seconds a 1,000 of them, and ms at steadyRate
}

// floor measures the service and the least program that could do its job in turns, and prints the median of the ratios of a
// round. Machines differ from hour to hour, so only ratios have targets.
func floor(ctx context.Context, s settings) error {
	sides := [2]side{{name: "service", open: serve}, {name: "floor", open: least}}
	for round := range floorRounds {
		for turn := range sides {
			one := &sides[(round+turn)%len(sides)]
			f, err := one.measure(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			fmt.Printf("%s: delivered %.0f/s, CPU %.3f s a 1,000, p50 at %d/s %.2f ms\n", one.name, f.rate, f.cpu, steadyRate, f.p50)
		}
	}
	for _, row := range []struct {
		name, target string
		of           func(figures) float64
	}{
		{"delivered/s", "at least 0.55", func(f figures) float64 { return f.rate }},
		{"CPU seconds a 1,000", "at most 2.3", func(f figures) float64 { return f.cpu }},
		{fmt.Sprintf("p50 at %d/s, ms", steadyRate), "at most 1.3", func(f figures) float64 { return f.p50 }},
	} {
		var service, floor, ratio []float64
		for n, f := range sides[1].seen {
			service, floor = append(service, row.of(sides[0].seen[n])), append(floor, row.of(f))
			ratio = append(ratio, service[n]/floor[n])
		}
		fmt.Printf("%s: service %.3f, floor %.3f, ratio %.2f (target: %s)\n", row.name, median(service), median(floor), median(ratio), row.target)
	}
	return nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// measure publishes to a new bed, first as fast as the publishers can, and then at a steady pace.
func (s *side) measure(ctx context.Context, set settings) (f figures, err error) {
	fast := warm + set.events
	steady := fast + steadyRate // the first second warms it up
	a := newArrivals(steady + int(steadyRate*set.duration.Seconds()))
	b, err := s.open(ctx, set, a)
	if err != nil {
		return f, err
	}
	defer b.close()
	p, err := b.pour(ctx, a, fast)
	if err != nil {
		return f, err
	}
	if err := b.publish(a, fast, len(a.arrived), 8, time.Second/steadyRate, b.spread); err != nil {
		return f, err
	}
	if err := a.wait(ctx, time.Minute); err != nil {
		return f, err
	}
	f = figures{
		rate: float64(set.events) / p.took.Seconds(), cpu: 1000 * p.cpu / float64(set.events),
		p50: percentile(a.delays(func(n int) bool { return n >= steady }), 0.5),
	}
	s.seen = append(s.seen, f)
	return f, nil
}

func serve(ctx context.Context, s settings, a *arrivals) (*bed, error) {
	return prepare(ctx, s, a.note, nil)
}

// least starts this binary as the floor, in a process of its own, whose CPU time can be read.
func least(ctx context.Context, s settings, a *arrivals) (*bed, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r, err := receive(ctx, a.note, nil)
	if err != nil {
		return nil, err
	}
	s.binary, s.args = binary, []string{leastCommand, r.url()}
	svc, err := start(ctx, s)
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return &bed{service: svc, receiver: r, tenants: []tenant{{company: "floor"}}}, nil
}
