package notice_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/notice"
)

// TestNotice_For shows a brief to readers of briefs, and where a person logs in from to the person alone.
func TestNotice_For(t *testing.T) {
	t.Parallel()
	brief := notice.Notice{Kind: notice.Brief, UserID: "ada", Subject: "Two goals fell behind", Text: "Ship"}
	strange := notice.SignedIn("a", "ada", "198.51.100.7", "Firefox", time.Unix(0, 0)).Notice
	strange.Text = "198.51.100.7"
	for name, tt := range map[string]struct {
		n             notice.Notice
		reader        string
		brief         bool
		subject, text string
	}{
		"a brief":                          {brief, "bob", true, brief.Subject, brief.Text},
		"a brief without the right":        {brief, "bob", false, "Your brief", ""},
		"a sign-in, to the person":         {strange, "ada", false, strange.Subject, strange.Text},
		"a sign-in, to another":            {strange, "bob", true, strange.Subject, ""},
		"anything else, without the right": {notice.Notice{Kind: notice.Alert, Subject: "Paused", Text: "An endpoint"}, "bob", false, "Paused", "An endpoint"},
	} {
		got := tt.n.For(tt.reader, tt.brief)
		if diff := cmp.Diff([]string{tt.subject, tt.text}, []string{got.Subject, got.Text}); diff != "" {
			t.Errorf("%s: subject and text differ (-want +got):\n%s", name, diff)
		}
	}
}
