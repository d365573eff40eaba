package notifier_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/queue"
	"orgops/shared/testkit/errtest"
)

// event returns the body of a sample of the notifier, as SES tells it of a mail to ada, with the replacements given as pairs.
func event(t *testing.T, file string, replace ...string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../events/notifier/" + file)
	errtest.Must(t, err)
	var e events.SQSEvent
	errtest.Must(t, json.Unmarshal(text, &e))
	pairs := append([]string{
		"0197c1d2-3e4f-7a5b-8c6d-7e8f90a1b2c3", "acme", "0197c1d2-6c00-8d11-8e22-f333a444b555", "ada", "ada@example.com", "Ada@acme.test",
	}, replace...)
	body := e.Records[0].Body
	for n := 0; n < len(pairs); n += 2 {
		if !strings.Contains(body, pairs[n]) {
			t.Fatalf("%s has no %q", file, pairs[n])
		}
		body = strings.ReplaceAll(body, pairs[n], pairs[n+1])
	}
	return []byte(body)
}

// refusal returns why no mails go to a user, with a mark if the time is missing.
func refusal(u user.User) user.MailRefusal {
	if u.MailRefusedAt == nil && u.MailRefusedWith != "" {
		return u.MailRefusedWith + " at no time"
	}
	return u.MailRefusedWith
}

func (d *desk) hear(body []byte) error {
	d.T.Helper()
	due, err := d.notifier.Handle(d.T.Context(), queue.Received{Message: queue.Message{Body: body}})
	if !due.IsZero() {
		d.T.Errorf("the event comes again at %s, want never", due)
	}
	return err
}

// TestReturned checks what an event of SES does to the user whose mail it is about.
func TestReturned(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		replace    []string
		want       user.MailRefusal
	}{
		{"bounced for good", "bounced.json", nil, user.MailBounced},
		{"on the account's list", "bounced.json", []string{`"General"`, `"OnAccountSuppressionList"`}, user.MailBounced},
		{"full mailbox", "bounced.json", []string{`"Permanent"`, `"Transient"`, `"General"`, `"MailboxFull"`}, ""},
		{"unclear bounce", "bounced.json", []string{`"Permanent"`, `"Undetermined"`}, ""},
		{"complained", "complained.json", nil, user.MailComplained},
		{"no spam", "complained.json", []string{`"abuse"`, `"not-spam"`}, ""},
		{"a complaint without a kind", "complained.json", []string{`"complaintFeedbackType":"abuse",`, ``}, user.MailComplained},
		{"a former address", "bounced.json", []string{`"Ada@acme.test"`, `"lovelace@acme.test"`}, ""},
		{"a user who has left", "bounced.json", []string{`["ada"]`, `["eve"]`}, ""},
		{"another company", "bounced.json", []string{`["acme"]`, `["other"]`}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			errtest.Must(t, d.hear(event(t, tt.file, tt.replace...)))
			u, _, err := company.GetUser(t.Context(), d.company, "ada")
			errtest.Must(t, err)
			if got := refusal(u); got != tt.want {
				t.Errorf("mails are refused with %q, want %q", got, tt.want)
			}
		})
	}
}

// TestReturned_Ends checks that no mail goes to the user from then on, that a repeat changes nothing, and that an administrator ends it.
func TestReturned_Ends(t *testing.T) {
	t.Parallel()
	d := setup(t)
	errtest.Must(t, d.hear(event(t, "complained.json")))
	told, version, err := company.GetUser(t.Context(), d.company, "ada")
	errtest.Must(t, err)
	d.Clock.Advance(time.Minute)
	errtest.Must(t, d.hear(event(t, "complained.json")))
	errtest.Must(t, d.hear(event(t, "bounced.json")))
	again, _, err := company.GetUser(t.Context(), d.company, "ada")
	errtest.Must(t, err)
	if diff := cmp.Diff(told, again); diff != "" {
		t.Errorf("the user after repeats (-before +after):\n%s", diff)
	}
	d.tell(d.alert("webhook", 1))
	d.want()
	d.states("endpoint-disabled ada omitted the person's address refuses mails")

	_, _, err = company.ChangeUser(t.Context(), d.Store, d.company, told, version, company.Change{ResumeMails: true}, d.Clock.Now())
	errtest.Must(t, err)
	d.Clock.Advance(time.Minute)
	d.tell(d.alert("other", 1))
	d.want("ada: other stopped")
}

// TestReturned_Tags checks that a mail names the user whom its return is about.
func TestReturned_Tags(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.tell(d.alert("webhook", 1))
	if got := d.post.taken[0].Company + " " + d.post.taken[0].UserID; got != "acme ada" {
		t.Errorf("the mail names %q, want acme and ada", got)
	}
}

// TestReturned_Foreign buries what is neither a job nor an event about a mail of the service.
func TestReturned_Foreign(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"no event": []byte(`{}`), "a job without a company": []byte(`{"company":"","notice":"1"}`),
		"another source": event(t, "bounced.json", `"aws.ses"`, `"eve"`), "no tags": event(t, "bounced.json", `"company":["acme"],`, ``),
		"two recipients": event(t, "bounced.json", `"destination":[`, `"destination":["eve@acme.test",`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := setup(t).hear(body); !errors.Is(err, queue.ErrPoison) {
				t.Errorf("error = %v, want that the message is buried", err)
			}
		})
	}
}
