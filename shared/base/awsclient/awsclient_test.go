package awsclient_test

import (
	"strings"
	"testing"

	"orgops/shared/base/awsclient"
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
	keys, err := a.Credentials.Retrieve(t.Context())
	if err != nil || a.Region != "eu-central-1" || keys.AccessKeyID != "id" || keys.SecretAccessKey != "secret" || keys.SessionToken != "session" {
		t.Errorf("got %+v of %s, %v", keys, a.Region, err)
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
		if got := a.BaseEndpoint(tt.names...); got == nil || *got != tt.want {
			t.Errorf("%q: got %v, want %s", tt.names, got, tt.want)
		}
	}
	a, err = awsclient.Read(env("AWS_REGION", "eu-central-1", "AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "secret"))
	if err != nil || a.BaseEndpoint("SQS") != nil {
		t.Errorf("without an endpoint: %v, %v; want AWS's own", a.BaseEndpoint("SQS"), err)
	}
}

func TestRead_Problems(t *testing.T) {
	t.Parallel()
	_, err := awsclient.Read(env("AWS_SECRET_ACCESS_KEY", "top-secret", "AWS_ENDPOINT_URL_DYNAMODB", "localhost:8000"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL_DYNAMODB"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
	if strings.Contains(err.Error(), "top-secret") {
		t.Error("the error shows a secret")
	}
}
