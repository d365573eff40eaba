package slack_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/slack"
)

var errSlack = errors.New("slack answered 500")

func client(url string) slack.Client {
	return slack.Client{Out: outbound.New(outbound.Options{AllowLoopback: true}), URL: url, Now: time.Now}
}

func message() slack.Message {
	m := slack.Message{Text: "Hello"}
	return m
}

// Each answer of Slack says whether a repeat may help. No error shows what Slack wrote, which may hold the address.
func TestPost(t *testing.T) {
	t.Parallel()
	fake := slacktest.New(t)
	c := client(fake.URL)
	errtest.Must(t, c.Post(t.Context(), fake.WebhookURL(), message()))
	tests := []struct {
		answer slacktest.Answer
		want   error
	}{
		{slacktest.Answer{Status: 429, RetryAfter: "7"}, &slack.WaitError{For: 7 * time.Second}},
		{slacktest.Answer{Status: 404, Text: "no_service"}, &slack.RefusedError{Code: "404 no_service"}},
		{slacktest.Answer{Status: 403, Text: "Your secret is " + slacktest.Webhook}, &slack.RefusedError{Code: "403 no reason given"}},
		{slacktest.Answer{Status: 500, Text: "oops"}, errSlack},
		{slacktest.Answer{Lost: true}, slack.ErrUnknown},
	}
	for _, tt := range tests {
		fake.Next(tt.answer)
		err := c.Post(t.Context(), fake.WebhookURL(), message())
		if got, want := describe(err), describe(tt.want); got != want {
			t.Errorf("%+v returned %s, want %s", tt.answer, got, want)
		}
	}
	if got := len(fake.Posted()); got != 2 {
		t.Errorf("Slack has taken %d messages, want 2", got)
	}
}

// describe returns an error with its type.
func describe(err error) string { return fmt.Sprintf("%T %v", err, err) }

func TestPost_Unreachable(t *testing.T) {
	t.Parallel()
	err := client("http://127.0.0.1:1").Post(t.Context(), "http://127.0.0.1:1"+slacktest.Webhook, message())
	if got, want := describe(err), "*errors.errorString connection refused"; got != want {
		t.Errorf("a connection that was refused returned %s, want %s", got, want)
	}
}

func TestCheckWebhook(t *testing.T) {
	t.Parallel()
	c := client(slack.Home)
	if why := c.CheckWebhook("https://hooks.slack.com/services/T0/B0/x"); why != "" {
		t.Errorf("an address of Slack is refused: %s", why)
	}
	for _, address := range []string{
		"http://hooks.slack.com/services/T0/B0/x", "https://hooks.slack.com.evil.test/services/T0/B0/x", "https://hooks.slack.com/other",
		"https://evil.test/services/T0/B0/x", "https://hooks.slack.com@evil.test/services/x", "hooks.slack.com/services/T0", "http://127.0.0.1:1/services/x",
	} {
		if why := c.CheckWebhook(address); why == "" {
			t.Errorf("%s is accepted", address)
		}
	}
}
