// Package cloud is where a Lambda function begins: its settings, its access to AWS and its log. What a function is made of
// beyond that is in the packages below this one, each with the clients that it needs, so that no function carries, or
// starts with, those of another.
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
)

// Cloud is what every function has.
type Cloud struct {
	Config   config.Config
	Settings config.Cloud
	Access   awsclient.Access
	Logger   *slog.Logger // JSON lines, which CloudWatch indexes
	Now      func() time.Time

	missing map[string]bool
}

// Open reads the environment. It calls nobody.
func Open() (*Cloud, error) {
	c := &Cloud{Now: time.Now, missing: map[string]bool{}}
	var problems [3]error
	c.Config, problems[0] = config.Read(os.Getenv)
	c.Settings, problems[1] = config.ReadCloud(os.Getenv)
	c.Access, problems[2] = awsclient.Read(os.Getenv)
	c.Logger = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.Config.LogLevel}))
	return c, errors.Join(problems[:]...)
}

// Need is a setting that the function cannot do without; one that is empty is told by Missing.
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
