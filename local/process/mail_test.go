package process_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"orgops/local/process"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// TestMails says where mails are. Their page is named only where it is served: to this machine alone.
func TestMails(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for name, tt := range map[string]struct{ addr, smtp, want string }{
		"without a mail host": {"127.0.0.1:4000", "", "kept, not sent: http://127.0.0.1:4000/mails"},
		"exposed":             {"0.0.0.0:4000", "", "kept, not sent: " + filepath.Join(data, "mails")},
		"with a mail host":    {"127.0.0.1:4000", "smtp://mail.example.com", "sent to the host of ORGOPS_SMTP_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Config{
				Data: data, Addr: tt.addr, Issuer: "https://orgops.test", Audience: "orgops", SMTP: tt.smtp, MailFrom: "Orgops <orgops@example.com>",
			}
			p, err := process.Open(t.Context(), c, slog.New(slog.DiscardHandler))
			errtest.Must(t, err)
			defer p.Close()
			if got := p.Mails(c, "http://127.0.0.1:4000"); got != tt.want {
				t.Errorf("mails = %q, want %q", got, tt.want)
			}
		})
	}
}
