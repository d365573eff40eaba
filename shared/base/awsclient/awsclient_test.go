package awsclient_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/awsclient"
	"orgops/shared/testkit/errtest"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	a, err := awsclient.Read(env("AWS_DEFAULT_REGION", "eu-central-1", "AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "secret",
		"AWS_SESSION_TOKEN", "session", "AWS_ENDPOINT_URL", "http://all:1", "AWS_ENDPOINT_URL_SQS", "http://sqs:1"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Region != "eu-central-1" {
		t.Errorf("region %q, want eu-central-1", a.Region)
	}
	keys, err := a.Credentials.Retrieve(t.Context())
	errtest.Must(t, err)
	want := aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret", SessionToken: "session", Source: keys.Source}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("credentials differ (-want +got):\n%s", diff)
	}
	tests := []struct {
		names []string
		want  string
	}{
		{[]string{"SQS"}, "http://sqs:1"},
		{[]string{"DYNAMODB"}, "http://all:1"},
		{[]string{"DYNAMODB_STREAMS", "SQS"}, "http://sqs:1"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(&tt.want, a.BaseEndpoint(tt.names...)); diff != "" {
			t.Errorf("endpoint of %q differs (-want +got):\n%s", tt.names, diff)
		}
	}
	a, err = awsclient.Read(env("AWS_REGION", "eu-central-1", "AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "secret"))
	errtest.Must(t, err)
	if got := a.BaseEndpoint("SQS"); got != nil {
		t.Errorf("without an endpoint: %s, want none: AWS's own", *got)
	}
}

func TestRead_Problems(t *testing.T) {
	t.Parallel()
	_, err := awsclient.Read(env("AWS_SECRET_ACCESS_KEY", "top-secret", "AWS_ENDPOINT_URL_DYNAMODB", "localhost:8000"))
	got := errtest.Message(err)
	for _, want := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL_DYNAMODB"} {
		if !strings.Contains(got, want) {
			t.Errorf("error %q, want one with %q", got, want)
		}
	}
	if strings.Contains(got, "top-secret") {
		t.Errorf("error %q, want it without the secret", got)
	}
}
