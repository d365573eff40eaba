// Package servicetest runs the whole service inside a test, and the installed tools that the test holds against it.
package servicetest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"orgops/local/process"
	"orgops/shared/domain/company"
	passwords "orgops/shared/identity/password"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// What the service's tokens name as their issuer and their audience.
const (
	Issuer   = "https://orgops.test"
	Audience = "orgops"
)

// Service is the whole service, with its own data folder and address.
type Service struct {
	URL     string
	Folder  string
	Process *process.Process
	Log     *Log
	t       *testing.T
}

// Start serves until the test ends. Then it checks that the log holds none of the secrets that the test named.
func Start(t *testing.T) *Service {
	t.Helper()
	return StartWith(t, func(*config.Config) {})
}

// StartWith serves like Start, with changed settings.
func StartWith(t *testing.T, change func(*config.Config)) *Service {
	t.Helper()
	return start(t, func(c *config.Config, _ string) { change(c) })
}

// StartAtItsAddress serves like Start, with changed settings. The service names its own address as its issuer, so that an identity
// provider leads back to it.
func StartAtItsAddress(t *testing.T, changes ...func(*config.Config)) *Service {
	t.Helper()
	return start(t, func(c *config.Config, address string) {
		c.Issuer = address
		for _, change := range changes {
			change(c)
		}
	})
}

func start(t *testing.T, change func(c *config.Config, address string)) *Service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	s := &Service{URL: "http://" + l.Addr().String(), Folder: t.TempDir(), Log: &Log{}, t: t}
	logger := slog.New(slog.NewJSONHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := config.Config{Data: s.Folder, Addr: l.Addr().String(), Issuer: Issuer, Audience: Audience}
	change(&c, s.URL)
	s.Process, err = process.Open(context.Background(), c, logger)
	errtest.Must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Process.Run(ctx, l) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v", err)
		}
		if err := s.Process.Close(); err != nil {
			t.Errorf("the service closed with %v", err)
		}
		s.Log.check(t)
	})
	return s
}

// Lead sends the requests that leave the service through another transport. Call it before any are made.
func (s *Service) Lead(through http.RoundTripper) {
	client := s.Process.Services.Client
	*client = *client.Through(through)
}

// Founder is who may log in to a company first.
type Founder struct{ CompanyID, Email, Password string }

// Found creates a company with its founder.
func (s *Service) Found(name string) Founder {
	s.t.Helper()
	f := Founder{Email: strings.ToLower(name) + "@example.com", Password: "correct horse battery staple"}
	p, err := company.Provision(context.Background(), s.Process.Services.Store, passwords.New(),
		company.New{Name: name, Email: f.Email, Password: f.Password}, time.Now())
	errtest.Must(s.t, err)
	s.Log.KeepOut(f.Password)
	f.CompanyID = p.CompanyID
	return f
}
