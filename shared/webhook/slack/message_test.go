package slack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"orgops/shared/domain/notice"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/slack"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ship the beta":                    "Ship the beta",
		"<!channel> hello":                 "&lt;!channel&gt; hello",
		"<@U123> & <https://evil.test|us>": "&lt;@U123&gt; &amp; &lt;https://evil.test|us&gt;",
		"*bold* _it_ ~no~ `code`":          "∗bold∗ ＿it＿ ∼no∼ ˋcodeˋ",
		"a\u202Egnp.exe\nb":                "agnp.exe b",
		"&lt;!here&gt;":                    "&amp;lt;!here&amp;gt;",
	} {
		if got := slack.Escape(text, 100); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

// No bound cuts an escape in two, and no text is longer than its bound.
func TestEscape_Bound(t *testing.T) {
	t.Parallel()
	for limit := 2; limit < 30; limit++ {
		got := slack.Escape("ab<cd>&ef&&&&gh", limit)
		if n := utf8.RuneCountInString(got); n > limit {
			t.Errorf("%q has %d characters, want at most %d", got, n, limit)
		}
		rest := strings.NewReplacer("&amp;", "", "&lt;", "", "&gt;", "").Replace(got)
		if strings.Contains(rest, "&") {
			t.Errorf("%q cuts an escape in two", got)
		}
	}
	if got := slack.Escape("abcde", 5); got != "abcde" {
		t.Errorf("a text of the length of its bound is %q, want it whole", got)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("<!channel|x>", 10)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 2 {
			return
		}
		got := slack.Escape(text, limit)
		if strings.ContainsAny(got, "<>*_~`\n") {
			t.Errorf("Escape(%q, %d) = %q acts in Slack", text, limit, got)
		}
		if n := utf8.RuneCountInString(got); n > limit {
			t.Errorf("Escape(%q, %d) has %d characters", text, limit, n)
		}
	})
}

func TestWrite(t *testing.T) {
	t.Parallel()
	m, kept := slack.Write("github: <!channel>", "You read it.", notice.Content{
		Paragraphs: []string{"It stopped."},
		Facts:      []notice.Fact{{Name: "Integration", Value: "<@U1>"}, {Name: "Time", At: time.Unix(1_700_000_000, 0)}},
		Sections:   []notice.Section{{Title: "What happened", Items: []string{"one", "<!here>"}}},
		Link:       &notice.Link{Label: "Sign in and look", Path: "/console/#/"},
	}, "https://orgops.test", "acme")
	body, err := json.Marshal(m)
	errtest.Must(t, err)
	for _, not := range []string{"<!channel", "<@U1", "<!here"} {
		if strings.Contains(strings.ReplaceAll(string(body), `\u003c`, "<"), not) {
			t.Errorf("the message has %s: %s", not, body)
		}
	}
	for _, want := range []string{`\u003chttps://orgops.test/console/#/?company=acme|Sign in and look\u003e`, "!date^1700000000^", "It stopped."} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the message lacks %s: %s", want, body)
		}
	}
	if !strings.Contains(kept, "Time: 2023-11-14T22:13:20Z") {
		t.Errorf("the kept text lacks the time:\n%s", kept)
	}
}

// Slack refuses a message of more than 50 blocks, and blocks beyond their bounds.
func TestWrite_Bounds(t *testing.T) {
	t.Parallel()
	long := notice.Content{Paragraphs: []string{strings.Repeat("&", 5000)}}
	for range 60 {
		long.Sections = append(long.Sections, notice.Section{Title: "T", Items: []string{strings.Repeat("<", 500)}})
		long.Facts = append(long.Facts, notice.Fact{Name: "N", Value: strings.Repeat(">", 5000)})
	}
	m, _ := slack.Write(strings.Repeat("&", 500), "why", long, "https://orgops.test", "acme")
	if len(m.Blocks) > 50 {
		t.Errorf("the message has %d blocks, want at most 50", len(m.Blocks))
	}
	for _, b := range m.Blocks {
		if b.Text != nil && utf8.RuneCountInString(b.Text.Text) > 3000 {
			t.Errorf("a section has %d characters", utf8.RuneCountInString(b.Text.Text))
		}
		if len(b.Fields) > 10 {
			t.Errorf("a section has %d fields", len(b.Fields))
		}
		for _, f := range b.Fields {
			if utf8.RuneCountInString(f.Text) > 2000 {
				t.Errorf("a field has %d characters", utf8.RuneCountInString(f.Text))
			}
		}
	}
}
