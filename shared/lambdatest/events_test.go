package lambdatest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orgops/shared/delivery"
	"orgops/shared/syncrun"
)

const folder = "../../events"

// check decodes a sample and says what is wrong with it.
type check func(text []byte) error

// checks are by function: what sends its events.
func checks() map[string]check {
	return map[string]check{
		"auth": checkRequest, "integrations": checkRequest, "intelligence": checkRequest, "memory": checkRequest, "missioncontrol": checkRequest,
		"inbound":    checkInbound,
		"authorizer": checkToken, "projector": checkStream, "dispatcher": checkStream,
		"retrier": checkQueue(func() any { return &delivery.Job{} }), "syncer": checkQueue(func() any { return &syncrun.Job{} }),
		"ticker": checkSchedule, "rotator": checkRotation, "provisioner": checkCompany,
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d samples were found: %v", len(files), err)
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
			if !ok || filepath.Ext(file) != ".json" {
				t.Fatalf("nothing sends events/%s/%s", function, filepath.Base(file))
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

// TestSamples_Wrong: the checks notice shapes of other services and of other payload versions.
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
		{"header values apart", "auth/login-ok.json", `"application/json"` + "\n    ]", `"text/plain"` + "\n    ]"},
		{"a request authorizer", "authorizer/good-token.json", `"TOKEN"`, `"REQUEST"`},
		{"a number that is no text", "projector/memory-insert.json", `"N": "1"`, `"N": 1`},
		{"an image that is not asked for", "projector/ttl-remove.json", `"OldImage"`, `"NewImage"`},
		{"not the expiry's hand", "dispatcher/ttl-remove.json", `"dynamodb.amazonaws.com"`, `"ada"`},
		{"another body than was summed", "retrier/job.json", `\"request\":1`, `\"request\":2`},
		{"an unknown field of a job", "syncer/job.json", `\"run\"`, `\"job\"`},
		{"an update of something that has no name", "provisioner/resource-update.json", `"PhysicalResourceId"`, `"PhysicalResource"`},
		{"an update without what was", "provisioner/resource-update.json", `"OldResourceProperties"`, `"Old"`},
		{"another body than was signed", "inbound/github-issue-opened.json", `\"opened\"`, `\"closed\"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			was := sample(tt.file)
			is := strings.Replace(was, tt.old, tt.new, 1)
			if is == was {
				t.Fatalf("%s does not hold %s", tt.file, tt.old)
			}
			if checks()[filepath.Dir(tt.file)]([]byte(is)) == nil {
				t.Error("the sample passes")
			}
		})
	}
}
