// Package cloud opens the parts of the service on AWS. Settings, credentials and log are here. The packages below add the
// AWS clients, one package per client. Each client costs about 0.15 ms at the start, so a Lambda links only the clients
// that it uses.
package cloud

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/awsclient"
	"orgops/shared/base/metric"
	"orgops/shared/provider/connector"
	"orgops/shared/run/boot"
	"orgops/shared/run/config"
	"orgops/shared/webhook/outbound"
)

// Cloud holds what every process on AWS needs.
type Cloud struct {
	Config   config.Config
	Settings config.Cloud
	Access   awsclient.Access
	Logger   *slog.Logger // in a function: JSON lines, which CloudWatch indexes
	Metrics  *metric.Recorder
	Now      func() time.Time

	missing map[string]bool
}

// Open reads the environment of a function. It makes no calls.
func Open() (*Cloud, error) {
	c, err := Read(os.Getenv)
	c.Logger = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.Config.LogLevel}))
	c.Metrics = metric.New(os.Stdout, c.Settings.Stack, c.Now)
	return c, err
}

// Read reads the settings through getenv (os.Getenv). The caller sets the Logger and, to record metrics, Metrics.
func Read(getenv func(string) string) (*Cloud, error) {
	c := &Cloud{Now: time.Now, missing: map[string]bool{}}
	var problems [3]error
	c.Config, problems[0] = config.Read(getenv)
	c.Settings, problems[1] = config.ReadCloud(getenv)
	c.Access, problems[2] = awsclient.Read(getenv)
	return c, errors.Join(problems[:]...)
}

// Need returns the value of a required setting. If the value is empty, Missing reports the setting.
func (c *Cloud) Need(name, value string) string {
	if value == "" {
		c.missing[name] = true
	}
	return value
}

// Missing returns an error that names every required setting that is empty, or nil.
func (c *Cloud) Missing() error {
	if len(c.missing) == 0 {
		return nil
	}
	return errors.New("not set: " + strings.Join(slices.Sorted(maps.Keys(c.missing)), ", "))
}

// Adder adds parts to the parts of a process. Egress is an Adder, Connectors returns one, and the packages below have more.
type Adder func(*Cloud, *boot.Parts)

// Services assembles the services of a function. They do not cache endpoints between invocations, because a function does
// not see every change.
func (c *Cloud) Services(add ...Adder) *boot.Services {
	p := boot.Parts{
		Base: strings.TrimSuffix(c.Config.Issuer, "/"), FormerBase: strings.TrimSuffix(c.Config.FormerIssuer, "/"), Logger: c.Logger, Metrics: c.Metrics, Now: c.Now, NoExecutives: c.Config.NoExecutives, SendsFrom: c.Config.Egress, SlackURL: c.Config.SlackURL,
	}
	for _, a := range add {
		a(c, &p)
	}
	return boot.New(p)
}

// Egress adds the client for calls to addresses that tenants chose. The client reaches public addresses and the networks of
// ORGOPS_ALLOW_NETWORKS, and trusts the authorities of ORGOPS_CA_FILE too.
func Egress(c *Cloud, p *boot.Parts) {
	p.Client = outbound.New(outbound.Options{AllowNetworks: c.Config.AllowNetworks, RootCAs: c.Config.RootCAs})
}

// Connectors adds a list of connectors, such as catalog.All, and the egress that they need.
func Connectors(list func(*outbound.Client, func() time.Time) connector.Registry) Adder {
	return func(c *Cloud, p *boot.Parts) {
		Egress(c, p)
		p.Connectors = list(p.Client, c.Now)
	}
}
