package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/local/suite/servicetest"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/slacktest"
)

// TestMails opens every mail of the golden files at the width of a phone, in both themes. It checks each with axe-core, and that none is
// wider than the phone or loads anything.
func TestMails(t *testing.T) {
	t.Parallel()
	mails, err := filepath.Abs(filepath.Join(servicetest.Root, "shared/insight/letter/testdata"))
	errtest.Must(t, err)
	run(t, "mails.mjs", "BASE=about:", "MAILS="+mails, "PICTURES="+*pictures)
}

// TestConsole_Channels sets up Slack and mail, tries both with their buttons, and chooses the company's defaults.
func TestConsole_Channels(t *testing.T) {
	t.Parallel()
	fake := slacktest.New(t)
	s := servicetest.StartWith(t, func(c *config.Config) { c.SlackURL = fake.URL })
	f := s.Found("Acme")
	s.Log.KeepOut(slacktest.Webhook)
	run(t, "channels.mjs", "BASE="+s.URL, "COMPANY="+f.CompanyID, "EMAIL="+f.Email, "PASSWORD="+f.Password, "WEBHOOK="+fake.WebhookURL())
	var posted []string
	for _, m := range fake.Posted() {
		posted = append(posted, m.Text)
	}
	if diff := cmp.Diff([]string{"Test message"}, posted); diff != "" {
		t.Errorf("messages in Slack differ (-want +got):\n%s", diff)
	}
	files, err := filepath.Glob(filepath.Join(s.Folder, "mails", "*.eml"))
	errtest.Must(t, err)
	tests := 0
	for _, file := range files {
		mailed, err := os.ReadFile(file)
		errtest.Must(t, err)
		tests += strings.Count(string(mailed), "Subject: Test message")
	}
	if tests != 1 {
		t.Errorf("test mails = %d, want 1", tests)
	}
}
