package operations_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/base/id"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
	"orgops/shared/webhook/slack"
)

// outbox keeps the mails that it takes, or refuses them.
type outbox struct {
	taken []mail.Message
	fails error
}

func (o *outbox) Send(_ context.Context, m mail.Message) error {
	if o.fails == nil {
		o.taken = append(o.taken, m)
	}
	return o.fails
}

// post serves the group with a fake Slack and a mail host.
func post(t *testing.T) (*webtest.Harness, *slacktest.Slack, *outbox) {
	t.Helper()
	h, fake, out := webtest.New(t), slacktest.New(t), &outbox{}
	operations.Register(h.API(), operations.Deps{
		Store: h.Store, Vault: h.Vault, Now: noon, Mail: out, Base: "https://orgops.test",
		Slack: slack.Client{Out: outbound.New(outbound.Options{AllowLoopback: true}), URL: fake.URL, Now: time.Now},
	})
	return h, fake, out
}

func TestSlackChannel(t *testing.T) {
	t.Parallel()
	h, fake, _ := post(t)
	at := path(h, "/channels/slack")
	h.Do("GET", at, h.A.Token, nil).WantProblem(404, "not-found")
	h.Do("PUT", at, h.A.Token, object{"kinds": []string{"alert"}}).WantProblem(422, "invalid")
	h.Do("PUT", at, h.A.Token, object{"webhookUrl": "https://hooks.slack.com/services/T/B/x"}).WantProblem(422, "invalid")
	put := h.Do("PUT", at, h.A.Token, object{"webhookUrl": fake.WebhookURL()}).Want(200)
	got := h.Do("GET", at, h.A.Token, nil).Want(200)
	for name, body := range map[string][]byte{"PUT": put.Body, "GET": got.Body} {
		if strings.Contains(string(body), "secretsecret") {
			t.Errorf("%s shows the address: %s", name, body)
		}
	}
	var shown operations.SlackChannel
	got.JSON(&shown)
	if diff := cmp.Diff([]notice.Kind{notice.Approval, notice.Alert, notice.Brief}, shown.Kinds); diff != "" {
		t.Errorf("kinds differ (-want +got):\n%s", diff)
	}
	h.Do("PUT", at, h.A.Token, object{"kinds": []string{"alert"}}, "If-Match", `"7"`).WantProblem(412, "stale")
	h.Do("PUT", at, h.A.Token, object{"kinds": []string{"alert"}}, "If-Match", got.Header.Get("ETag")).Want(200)
	var sent operations.ChannelTest
	h.Do("POST", at+"/test", h.A.Token, nil).Want(200).JSON(&sent)
	if sent.State != notice.Sent {
		t.Errorf("the test is %+v, want sent by the address that stayed", sent)
	}
	if got := len(fake.Posted()); got != 1 {
		t.Errorf("Slack has %d messages, want 1", got)
	}
	h.Do("GET", "/companies/"+h.B.ID+"/operations/channels/slack", h.B.Token, nil).WantProblem(404, "not-found")
	h.Do("DELETE", at, h.A.Token, nil).Want(204)
	h.Do("GET", at, h.A.Token, nil).WantProblem(404, "not-found")
	h.Do("POST", at+"/test", h.A.Token, nil).WantProblem(404, "not-found")
}

// TestChannels_Again tells settings that were deleted from those that were stored after them, whose versions are the same. A creation
// replaces none.
func TestChannels_Again(t *testing.T) {
	t.Parallel()
	h, fake, now := webtest.New(t), slacktest.New(t), noon()
	operations.Register(h.API(), operations.Deps{
		Store: h.Store, Vault: h.Vault, Now: func() time.Time { return now }, Base: "https://orgops.test",
		Slack: slack.Client{Out: outbound.New(outbound.Options{AllowLoopback: true}), URL: fake.URL, Now: time.Now},
	})
	for channel, body := range map[string]object{"slack": {"webhookUrl": fake.WebhookURL()}, "mail": {"name": "Acme"}} {
		at := path(h, "/channels/"+channel)
		first := h.Do("PUT", at, h.A.Token, body).Want(200).Header.Get("ETag")
		h.Do("GET", at, h.A.Token, nil, "If-None-Match", first).Want(304)
		h.Do("PUT", at, h.A.Token, body, "If-None-Match", "*").WantProblem(412, "already-exists")
		h.Do("DELETE", at, h.A.Token, nil, "If-Match", first).Want(204)
		h.Do("PUT", at, h.A.Token, body, "If-Match", first).WantProblem(412, "stale")
		now = now.Add(time.Second)
		second := h.Do("PUT", at, h.A.Token, body, "If-None-Match", "*").Want(200).Header.Get("ETag")
		h.Do("GET", at, h.A.Token, nil, "If-None-Match", first).Want(200)
		h.Do("PUT", at, h.A.Token, body, "If-Match", first).WantProblem(412, "stale")
		h.Do("DELETE", at, h.A.Token, nil, "If-Match", first).WantProblem(412, "stale")
		h.Do("PUT", at, h.A.Token, body, "If-Match", second).Want(200)
	}
}

// A test shows what Slack said, and the channel keeps it until a message is taken.
func TestSlackChannel_Test(t *testing.T) {
	t.Parallel()
	h, fake, _ := post(t)
	at := path(h, "/channels/slack")
	h.Do("PUT", at, h.A.Token, object{"webhookUrl": fake.WebhookURL()}).Want(200)
	fake.Next(slacktest.Answer{Status: 404, Text: "no_service"}, slacktest.Answer{Lost: true}, slacktest.Answer{Status: 429}, slacktest.Answer{Status: 500})
	for _, want := range []string{
		"Slack refused it: 404 no_service", "Slack gave no answer; it may have taken the message", "Slack takes no messages at the moment; try again later",
		"Slack could not be reached: slack answered 500",
	} {
		var got operations.ChannelTest
		h.Do("POST", at+"/test", h.A.Token, nil).Want(200).JSON(&got)
		if diff := cmp.Diff(operations.ChannelTest{State: notice.Failed, Reason: want, At: noon()}, got); diff != "" {
			t.Errorf("test differs (-want +got):\n%s", diff)
		}
	}
	var shown operations.SlackChannel
	h.Do("GET", at, h.A.Token, nil).Want(200).JSON(&shown)
	if shown.FailedAt == nil {
		t.Error("the channel does not show that Slack refused a message")
	}
	h.Do("POST", at+"/test", h.A.Token, nil).Want(200)
	shown = operations.SlackChannel{}
	h.Do("GET", at, h.A.Token, nil).Want(200).JSON(&shown)
	if shown.FailedAt != nil {
		t.Errorf("the channel counts as failed since %s, want no more", shown.FailedAt)
	}
	for range notice.TestsPerHour - 5 {
		h.Do("POST", at+"/test", h.A.Token, nil).Want(200)
	}
	limited := h.Do("POST", at+"/test", h.A.Token, nil)
	limited.WantProblem(429, "quota-exceeded")
	if limited.Header.Get("Retry-After") == "" {
		t.Error("a refused test has no Retry-After")
	}
}

func TestMailChannel(t *testing.T) {
	t.Parallel()
	h, _, out := post(t)
	at := path(h, "/channels/mail")
	h.Do("GET", at, h.A.Token, nil).WantProblem(404, "not-found")
	for pointer, body := range map[string]object{
		"/replyTo": {"replyTo": "no address"}, "/name": {"name": "Acme\r\nBcc: eve@evil.test"},
	} {
		p := h.Do("PUT", at, h.A.Token, body).WantProblem(422, "invalid")
		if got := p.Errors[0].Pointer; got != pointer {
			t.Errorf("pointer = %s, want %s", got, pointer)
		}
	}
	h.Do("POST", at+"/test", h.A.Token, nil).Want(200)
	h.Do("PUT", at, h.A.Token, object{"name": "Acme operations", "replyTo": "ops@acme.test"}).Want(200)
	h.Do("POST", at+"/test", h.A.Token, nil).Want(200)
	var got []string
	for _, m := range out.taken {
		got = append(got, m.FromName+" to "+m.To+", reply to "+m.ReplyTo)
	}
	if diff := cmp.Diff([]string{"Acme to ada@acme.test, reply to ", "Acme operations to ada@acme.test, reply to ops@acme.test"}, got); diff != "" {
		t.Errorf("mails differ (-want +got):\n%s", diff)
	}
	out.fails = &mail.RefusedError{Code: 550, Enhanced: "5.1.1"}
	var sent operations.ChannelTest
	h.Do("POST", at+"/test", h.A.Token, nil).Want(200).JSON(&sent)
	if want := "the mail was refused for good: 550 5.1.1"; sent.Reason != want {
		t.Errorf("reason = %q, want %q", sent.Reason, want)
	}
	out.fails = nil
	c := store.For(h.Store, h.A.ID)
	var ada user.User
	item, err := c.Get(t.Context(), user.Key(h.A.UserID), &ada)
	errtest.Must(t, err)
	ada.MailRefusedAt = new(noon())
	errtest.Must(t, c.Commit(t.Context(), c.Replace(item.Key, user.Entity, item.Version, ada)))
	h.Do("POST", at+"/test", h.A.Token, nil).Want(200).JSON(&sent)
	if sent.State != notice.Failed {
		t.Errorf("a test mail to an address that refuses mails is %s, want failed", sent.State)
	}
	if len(out.taken) > 2 {
		t.Error("a test mail goes to an address that refuses mails")
	}
	h.Do("DELETE", at, h.A.Token, nil).Want(204)
	h.Do("GET", at, h.A.Token, nil).WantProblem(404, "not-found")
	member := h.UserToken(h.A.ID, h.A.UserID, user.Member)
	h.Do("POST", at+"/test", member, nil).WantProblem(403, "insufficient-scope")
}

// The brief goes to Slack if a person who reads it has chosen so. An operator, who does not, neither adds it nor leads it elsewhere.
func TestSlackChannel_Brief(t *testing.T) {
	t.Parallel()
	h, fake, _ := post(t)
	at, kim := path(h, "/channels/slack"), h.UserToken(h.A.ID, id.New(), user.Operator)
	kinds := func(bearer string, body object) (all []notice.Kind) {
		t.Helper()
		var got operations.SlackChannel
		h.Do("PUT", at, bearer, body).Want(200).JSON(&got)
		return got.Kinds
	}
	h.Do("PUT", at, kim, object{"webhookUrl": fake.WebhookURL(), "kinds": []string{"brief"}}).WantProblem(422, "invalid")
	without, with := []notice.Kind{notice.Approval, notice.Alert}, []notice.Kind{notice.Approval, notice.Alert, notice.Brief}
	got := [][]notice.Kind{
		kinds(kim, object{"webhookUrl": fake.WebhookURL()}), kinds(h.A.Token, object{}), kinds(kim, object{}), kinds(kim, object{"kinds": with}),
		kinds(kim, object{"webhookUrl": fake.WebhookURL()}),
	}
	if diff := cmp.Diff([][]notice.Kind{without, with, with, with, without}, got); diff != "" {
		t.Errorf("the kinds of the channel differ (-want +got):\n%s", diff)
	}
}
