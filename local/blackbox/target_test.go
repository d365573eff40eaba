package blackbox_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

// target is a form of the service, running.
type target struct {
	url string // of the API, without a slash at its end
	// createCompany makes a company with its founder, and addMember a user of it who may only read.
	createCompany func(ctx context.Context, name, email, password string) (id string, err error)
	addMember     func(ctx context.Context, company, email, password string) error
	log           func() string // what it wrote so far
	every         time.Duration // how often to look for what follows from a request
}

// targets start a form of the service that ends with the test.
var targets = []struct {
	name  string
	start func(t *testing.T) *target
}{
	{"local", startLocal},
	{"aws", startAWS},
	{"deployed", startDeployed},
}

var (
	chosen = flag.String("target", "", "local, aws or deployed; left out, all of them one after the other")
	update = flag.Bool("update", false, "write the golden record anew, from the target local")
)

// chosenTargets is what -target asks for.
func chosenTargets() ([]string, error) {
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

// tail is the last lines of a log, without those of requests that went well.
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
