package lambdatest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/testkit/errtest"
)

const folder = "../../../events"

// check decodes a sample and says what is wrong with it.
type check func(text []byte) error

// checks returns the check for each function's samples.
func checks() map[string]check {
	return map[string]check{
		"auth": checkRequest, "integrations": checkRequest, "intelligence": checkRequest, "memory": checkRequest, "missioncontrol": checkRequest,
		"operations": checkRequest, "executives": checkRequest, "sso": checkRequest, "mcp": checkRequest,
		"console":    checkRequest,
		"inbound":    checkInbound,
		"authorizer": checkToken, "projector": checkWindow, "dispatcher": checkStream,
		"retrier": checkQueue(func() any { return &delivery.Job{} }), "syncer": checkQueue(func() any { return &syncrun.Job{} }), "notifier": checkNotices,
		"ticker": checkSchedule, "rotator": checkRotation, "provisioner": checkCompany,
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	errtest.Must(t, err)
	if len(files) < 15 {
		t.Fatalf("%d samples found, want at least 15", len(files))
	}
	seen := map[string]bool{}
	for _, file := range files {
		function := filepath.Base(filepath.Dir(file))
		seen[function] = true
		t.Run(function+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			of, ok := checks()[function]
			if !ok {
				t.Fatalf("samples of %s have no check", function)
			}
			if got := filepath.Ext(file); got != ".json" {
				t.Fatalf("extension = %q, want .json", got)
			}
			if err := of(text); err != nil {
				t.Error(err)
			}
		})
	}
	for _, function := range functions(t) {
		if !seen[function] {
			t.Errorf("events/%s has no sample", function)
		}
	}
}

// TestSamples_Wrong checks that the checks refuse the shapes of other services and other payload versions.
func TestSamples_Wrong(t *testing.T) {
	t.Parallel()
	sample := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tests := []struct{ name, file, old, new string }{
		{"payload version 2", "auth/login-ok.json", `"httpMethod": "POST",`, `"version": "2.0", "rawPath": "/auth/login",`},
		{"different header values", "auth/login-ok.json", `"application/json"` + "\n    ]", `"text/plain"` + "\n    ]"},
		{"a request authorizer", "authorizer/good-token.json", `"TOKEN"`, `"REQUEST"`},
		{"a number that is not a string", "projector/memory-insert.json", `"N": "1"`, `"N": 1`},
		{"the wrong image", "projector/ttl-remove.json", `"OldImage"`, `"NewImage"`},
		{"a removal by a user", "dispatcher/ttl-remove.json", `"dynamodb.amazonaws.com"`, `"ada"`},
		{"a body with another checksum", "retrier/job.json", `\"generation\":1`, `\"generation\":2`},
		{"an unknown field of a job", "syncer/job.json", `\"run\"`, `\"job\"`},
		{"an update without a physical id", "provisioner/resource-update.json", `"PhysicalResourceId"`, `"PhysicalResource"`},
		{"an update without the old properties", "provisioner/resource-update.json", `"OldResourceProperties"`, `"Old"`},
		{"a body with another signature", "inbound/github-issue-opened.json", `\"opened\"`, `\"closed\"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			right := sample(tt.file)
			wrong := strings.Replace(right, tt.old, tt.new, 1)
			if wrong == right {
				t.Fatalf("%s does not contain %s", tt.file, tt.old)
			}
			if checks()[filepath.Dir(tt.file)]([]byte(wrong)) == nil {
				t.Error("the check passed, want an error")
			}
		})
	}
}
