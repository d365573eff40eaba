// Package cloud is where a process on AWS begins: its settings, its access and its log. What it is made of beyond that is in
// the packages below this one, each with the clients that it needs, so that no Lambda function carries, or starts with,
// those of another.
package cloud

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"orgops/shared/awsclient"
	"orgops/shared/config"
	"orgops/shared/metric"
)

// Cloud is what every such process has.
type Cloud struct {
	Config   config.Config
	Settings config.Cloud
	Access   awsclient.Access
	Logger   *slog.Logger // a function's: JSON lines, which CloudWatch indexes
	Metrics  *metric.Recorder
	Now      func() time.Time

	missing map[string]bool
}

// Open reads the environment of a function. It calls nobody.
func Open() (*Cloud, error) {
	c, err := Read(os.Getenv)
	c.Logger = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.Config.LogLevel}))
	c.Metrics = metric.New(os.Stdout, c.Settings.Stack, c.Now)
	return c, err
}

// Read reads the settings through getenv (os.Getenv). The Logger is the caller's to set, and so are Metrics: without, nothing
// is measured.
func Read(getenv func(string) string) (*Cloud, error) {
	c := &Cloud{Now: time.Now, missing: map[string]bool{}}
	var problems [3]error
	c.Config, problems[0] = config.Read(getenv)
	c.Settings, problems[1] = config.ReadCloud(getenv)
	c.Access, problems[2] = awsclient.Read(getenv)
	return c, errors.Join(problems[:]...)
}

// Need is a setting that the process cannot do without; one that is empty is told by Missing.
func (c *Cloud) Need(name, value string) string {
	if value == "" {
		c.missing[name] = true
	}
	return value
}

// Missing names every setting that was needed and is empty; nil when there is none.
func (c *Cloud) Missing() error {
	if len(c.missing) == 0 {
		return nil
	}
	return errors.New("not set: " + strings.Join(slices.Sorted(maps.Keys(c.missing)), ", "))
}
