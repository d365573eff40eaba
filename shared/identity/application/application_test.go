package application_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/application"
	"orgops/shared/testkit/errtest"
)

// TestParse reads applications, and says of a wrong one what it lacks without its secret.
func TestParse(t *testing.T) {
	t.Parallel()
	got, err := application.Parse([]byte(`{"hubspot": {"clientId": "a", "clientSecret": "b"}}`))
	errtest.Must(t, err)
	if diff := cmp.Diff(application.Static{"hubspot": {ClientID: "a", ClientSecret: "b"}}, got); diff != "" {
		t.Errorf("applications (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		`{"hubspot": {"clientId": "a"}}`:                                                                   "lacks clientId or clientSecret",
		`{"hubspot": {"clientId": "a", "clientSecret": "b", "secret": "s3cret"}}`:                          "not a JSON object of applications",
		`{"github": {"clientId": "a", "clientSecret": "b", "appId": "1"}}`:                                 "has one of appId and privateKey",
		`{"github": {"clientId": "a", "clientSecret": "b", "appId": "1", "privateKey": "s3cret"}}`:         "lacks slug",
		`{"gitlab": {"clientId": "a", "clientSecret": "b", "server": {"api": "https://git.example.com"}}}`: "lacks api, authorization or token",
		`["s3cret"]`: "not a JSON object of applications",
	} {
		_, err := application.Parse([]byte(text))
		if said := errtest.Message(err); !strings.Contains(said, want) {
			t.Errorf("%s: error %q, want it to say %q", text, said, want)
		}
		if said := errtest.Message(err); strings.Contains(said, "s3cret") {
			t.Errorf("%s: error %q quotes a secret", text, said)
		}
	}
}
