package blackbox_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

// target is a running form of the service.
type target struct {
	url     string // of the API, without a trailing slash
	program string // its path on this machine; the commands listen and trigger need no more than the url
	// createCompany creates a company with its founder; addMember adds a user who may only read.
	createCompany func(ctx context.Context, name, email, password string) (id string, err error)
	addMember     func(ctx context.Context, company, email, password string) error
	setPlan       func(ctx context.Context, company, plan string) error
	checks        []check       // what only this target can show; they run before the journeys, or in parallel with them
	log           func() string // returns the log so far
	every         time.Duration // the interval at which poll asks
	deployed      *deployed     // nil: the target is another one
	throttled     bool          // the account is small, so that the gateway refuses requests for want of concurrency
}

// check tests what no answer over HTTP shows.
type check struct {
	name string
	run  func(*testing.T, *world)
}

// targets lists the forms of the service. Each form ends with the test.
var targets = []struct {
	name  string
	start func(t *testing.T) *target
}{
	{"local", startLocal},
	{"aws", startAWS},
	{"deployed", startDeployed},
}

var (
	chosen = flag.String("target", "", "local, aws or deployed; without it, all of them in turn")
	update = flag.Bool("update", false, "rewrite the golden files, from the target local")
)

// chosenTargets returns the names that -target selects; with -update or -short, local.
func chosenTargets() ([]string, error) {
	if testing.Short() {
		return []string{"local"}, nil
	}
	var names []string
	for _, t := range targets {
		if *chosen == "" && !*update || *chosen == t.name || *update && t.name == "local" {
			names = append(names, t.name)
		}
	}
	if len(names) != 1 && *chosen != "" || *update && *chosen != "" && *chosen != "local" {
		return nil, errors.New("-target must be local, aws or deployed, and local with -update")
	}
	return names, nil
}

// tail returns the last lines of a log, without those of requests that succeeded.
func tail(log string) string {
	const lines = 40
	var kept []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"status":2`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[max(0, len(kept)-lines):], "")
}
