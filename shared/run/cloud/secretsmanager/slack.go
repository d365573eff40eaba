package secretsmanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/webhook/slack"
)

// slackFresh is how long a process uses what it has read of the Slack app. An operator may replace a secret.
const slackFresh = 5 * time.Minute

// AddSlack adds the operator's Slack app, which is read when it is first needed. Without ORGOPS_SLACK_SECRET it adds no app.
func AddSlack(c *cloud.Cloud, p *boot.Parts) {
	if c.Settings.SlackSecret == "" {
		return
	}
	app := &slackApp{secret: tokensecret.Open(c.Access, c.Settings.SlackSecret), now: c.Now}
	p.SlackApp = app.read
}

// slackApp keeps the app that was read last. It is safe for concurrent use.
type slackApp struct {
	secret *tokensecret.Secret
	now    func() time.Time

	mu  sync.Mutex
	app slack.App
	at  time.Time
}

func (s *slackApp) read(ctx context.Context) (slack.App, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.at.IsZero() || now.Sub(s.at) >= slackFresh {
		text, err := s.secret.Text(ctx)
		if err != nil {
			return slack.App{}, fmt.Errorf("read the secret of the Slack app: %w", err)
		}
		var app slack.App
		if json.Unmarshal(text, &app) != nil || !app.IsSet() {
			return slack.App{}, errors.New("the secret of the Slack app is no JSON object with clientId, clientSecret and signingSecret")
		}
		s.app, s.at = app, now
	}
	return s.app, nil
}
