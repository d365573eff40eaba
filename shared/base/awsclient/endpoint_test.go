package awsclient_test

import (
	"testing"

	"orgops/shared/base/awsclient"
)

func TestAccess_Where(t *testing.T) {
	t.Parallel()
	tests := []struct {
		endpoint      string
		aws, loopback bool
	}{
		{"", true, false},
		{"https://sqs.eu-central-1.amazonaws.com", true, false},
		{"https://VPCE-1.sqs.eu-central-1.vpce.amazonaws.com.", true, false},
		{"https://sqs.eu-central-1.api.aws", true, false},
		{"https://sqs.cn-north-1.amazonaws.com.cn", true, false},
		{"http://127.0.0.1:9324", false, true},
		{"http://127.8.0.1:9324", false, true},
		{"http://[::1]:9324", false, true},
		{"http://localhost:9324", false, true},
		{"http://localhost.example.com:9324", false, false},
		{"http://emulator:4566", false, false},
		{"http://amazonaws.com.example.org", false, false},
		{"http://notamazonaws.com", false, false},
	}
	for _, tt := range tests {
		a, err := awsclient.Read(env("AWS_REGION", "eu-central-1", "AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY", "secret", "AWS_ENDPOINT_URL_SQS", tt.endpoint))
		if err != nil {
			t.Fatal(err)
		}
		if got := a.AtAWS("SQS"); got != tt.aws {
			t.Errorf("%q: AtAWS = %t, want %t", tt.endpoint, got, tt.aws)
		}
		if got := a.OnLoopback("SQS"); got != tt.loopback {
			t.Errorf("%q: OnLoopback = %t, want %t", tt.endpoint, got, tt.loopback)
		}
	}
}
