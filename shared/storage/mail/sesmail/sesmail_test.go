package sesmail_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/awsclient"
	contract "orgops/shared/storage/mail"
	"orgops/shared/storage/mail/sesmail"
	"orgops/shared/testkit/errtest"
)

// sent is the part of a call of SES that names the mail.
type sent struct {
	ConfigurationSetName string
	EmailTags            []struct{ Name, Value string }
	Destination          struct{ ToAddresses []string }
}

// TestSend_Tags checks that SES learns whose the mail is, if it shall tell of mails that come back.
func TestSend_Tags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, set string
		want      sent
	}{
		{"with a set", "Orgops", sent{ConfigurationSetName: "Orgops", EmailTags: []struct{ Name, Value string }{{"company", "acme"}, {"user", "ada"}}}},
		{"without one", "", sent{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got sent
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, err := io.ReadAll(r.Body)
				if err == nil {
					err = json.Unmarshal(text, &got)
				}
				if err != nil {
					t.Error(err)
				}
				_, _ = io.WriteString(w, `{"MessageId":"1"}`)
			}))
			defer host.Close()
			values := map[string]string{
				"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL_SESV2": host.URL,
			}
			access, err := awsclient.Read(func(name string) string { return values[name] })
			errtest.Must(t, err)
			sender := sesmail.New(access, mail.Address{Address: "orgops@example.com"}, tt.set)
			errtest.Must(t, sender.Send(t.Context(), contract.Message{
				ID: "1", To: "ada@acme.test", Subject: "Test", Text: "Test\n", HTML: "<p>Test</p>", Company: "acme", UserID: "ada",
			}))
			tt.want.Destination.ToAddresses = []string{"ada@acme.test"}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("call of SES (-want +got):\n%s", diff)
			}
		})
	}
}
