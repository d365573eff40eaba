package secretsmanager

import (
	"context"
	"sync"
	"time"

	"orgops/shared/identity/application"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
)

// applicationsFresh is how long the operator's applications are used before they are read again.
const applicationsFresh = 5 * time.Minute

// applicationsPause is how long a first read that failed is not repeated.
const applicationsPause = 30 * time.Second

// AddApplications adds the applications that the operator has registered with providers. Without ORGOPS_APPLICATIONS it adds no applications. They
// are read when one is needed.
func AddApplications(c *cloud.Cloud, p *boot.Parts) {
	if c.Settings.Applications != "" {
		p.Applications = &applications{secret: tokensecret.Open(c.Access, c.Settings.Applications), now: c.Now}
	}
}

// applications reads the operator's applications from a secret. It is safe for concurrent use.
type applications struct {
	secret *tokensecret.Secret
	now    func() time.Time

	mu    sync.Mutex
	known application.Static
	at    time.Time // of the last read
	err   error     // of the last read
}

// Find implements application.Applications. What was read goes on while the secret cannot be read.
func (a *applications) Find(ctx context.Context, kind string) (application.Application, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, fresh := a.now(), applicationsFresh
	if a.known == nil {
		fresh = applicationsPause
	}
	if a.at.IsZero() || now.Sub(a.at) >= fresh {
		known, err := a.read(ctx)
		if err == nil {
			a.known = known
		}
		if err == nil || ctx.Err() == nil { // a caller that has gone says nothing about the secret
			a.at, a.err = now, err
		} else if a.known == nil {
			return application.Application{}, false, err
		}
	}
	if a.known == nil {
		return application.Application{}, false, a.err
	}
	return a.known.Find(ctx, kind)
}

func (a *applications) read(ctx context.Context) (application.Static, error) {
	text, err := a.secret.Text(ctx)
	if err != nil {
		return nil, err
	}
	return application.Parse(text)
}
