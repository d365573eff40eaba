package slack_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"orgops/shared/domain/approval"
	"orgops/shared/webhook/slack"
)

// asked returns the actions of the buttons of the message that asks for an approval, and its texts.
func asked(t *testing.T, payload string) (buttons []string, texts string) {
	t.Helper()
	m := slack.Ask(slack.Message{}, "https://orgops.test", "acme", approval.Approval{ID: "1", Payload: json.RawMessage(payload)})
	for _, b := range m.Blocks {
		if b.Text != nil {
			texts += b.Text.Text + "\n"
		}
		for _, e := range b.Elements {
			button, ok := e.(slack.Button)
			if !ok {
				t.Fatalf("an element is a %T, want a button", e)
			}
			buttons = append(buttons, button.Action)
		}
	}
	return buttons, texts
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"title":"Ship"}`: `{"title":"Ship"}`,
		`{"external_id":"a  b","title":"*x* ~ <!channel> & co"}`: `{"external_id":"a  b","title":"*x* ~ &lt;!channel&gt; &amp; co"}`,
		strings.Repeat("x", 2500):                                strings.Repeat("x", 2500),
	} {
		buttons, texts := asked(t, payload)
		if want := []string{slack.Approve, slack.Reject}; !slices.Equal(buttons, want) {
			t.Errorf("buttons of %.40s = %v, want %v", payload, buttons, want)
		}
		if want = "```" + want + "```"; !strings.Contains(texts, want) {
			t.Errorf("the message lacks the exact action %.60s:\n%s", want, texts)
		}
	}
}

// No one approves an action that the message does not show exactly.
func TestAsk_Inexact(t *testing.T) {
	t.Parallel()
	link := ": <https://orgops.test/console/#/operations/approvals?company=acme|sign in and decide>."
	for payload, why := range map[string]string{
		strings.Repeat("x", 2501):       "This action is too long to show here",
		strings.Repeat("&", 501):        "This action is too long to show here",
		`{"title":"` + "a```*b*" + `"}`: "This action has characters that Slack does not show",
		"{\"title\":\"a\u202Eb\"}":      "This action has characters that Slack does not show",
	} {
		buttons, texts := asked(t, payload)
		if want := []string{slack.Reject}; !slices.Equal(buttons, want) {
			t.Errorf("buttons of %.40q = %v, want %v", payload, buttons, want)
		}
		if !strings.Contains(texts, why+link) {
			t.Errorf("the message of %.40q lacks %q:\n%s", payload, why+link, texts)
		}
		for _, not := range []string{"*Approve*", "exact action"} {
			if strings.Contains(texts, not) {
				t.Errorf("the message of %.40q has %q:\n%s", payload, not, texts)
			}
		}
	}
}
