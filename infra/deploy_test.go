package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

// TestTags checks that everything that can have tags has those by which AWS breaks down its bill.
func TestTags(t *testing.T) {
	t.Parallel()
	names := map[string]string{"pool": "Orgops", "silo": "Orgops-acme"}
	for stack, s := range stacks {
		kinds := map[string]schema{}
		for id, r := range s.Resources {
			if _, known := kinds[r.Type]; !known {
				kinds[r.Type] = schemaOf(t, r.Type)
			}
			tagging := kinds[r.Type].Tagging
			if !tagging.Taggable {
				continue
			}
			got := map[string]any{}
			for _, tag := range list(r.Properties[strings.TrimPrefix(tagging.TagProperty, "/properties/")]) {
				got[text(dig(tag, "Key"))] = dig(tag, "Value")
			}
			if got["orgops:stack"] != names[stack] {
				t.Errorf("%s: %s (%s) has the tags %v, want the name of the stack", stack, id, r.Type, got)
			}
			if !slices.Contains([]any{"data", "api", "events", "watch", "egress"}, got["orgops:part"]) {
				t.Errorf("%s: %s (%s) has the tags %v, want a part of the stack", stack, id, r.Type, got)
			}
		}
	}
}

// TestProtected checks that a stack cannot be removed by one command.
func TestProtected(t *testing.T) {
	t.Parallel()
	for name, s := range stacks {
		if !s.protected {
			t.Errorf("%s has no termination protection", name)
		}
	}
}

// aws is a command line of AWS that writes its arguments to a file and answers some of them.
const aws = `#!/bin/sh
echo "aws $*" >> "$CALLS"
case "$*" in
*describe-stacks*) echo "$STATUS" ;;
*list-stack-resources*Table*) printf 'Main-1\tKeys-1\n' ;;
*list-stack-resources*Key*) echo key-1 ;;
"ssm get-parameter"*) [ "$BOOTSTRAPPED" = yes ] || { echo "An error occurred ($BOOTSTRAPPED)" >&2; exit 254; } ;;
esac
`

// tool is a program that writes its name and arguments to a file.
const tool = `#!/bin/sh
echo "${0##*/} $*" >> "$CALLS"
`

// calls runs a command with a false aws, go and cdk in front, and returns how these were called.
func calls(t *testing.T, env []string, program string, args ...string) ([]string, error) {
	t.Helper()
	folder := t.TempDir()
	for name, script := range map[string]string{"aws": aws, "go": tool, "cdk": tool} {
		errtest.Must(t, os.WriteFile(filepath.Join(folder, name), []byte(script), 0o700))
	}
	file := filepath.Join(folder, "calls")
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), append(env, "PATH="+folder+":"+os.Getenv("PATH"), "CALLS="+file, "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=a")...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%s", output)
	}
	text, _ := os.ReadFile(file) // absent if nothing was called
	return strings.Split(strings.TrimSpace(string(text)), "\n"), err
}

// TestDeploy checks the order of a deployment: it compares the stack with the account, prepares the account for the CDK only if it is
// not prepared, shows the change and then makes it.
func TestDeploy(t *testing.T) {
	t.Parallel()
	for bootstrapped, want := range map[string][]string{
		"yes":               {"cdk synth", "go run", "cdk diff", "cdk deploy"},
		"ParameterNotFound": {"cdk synth", "go run", "cdk bootstrap", "cdk diff", "cdk deploy"},
		"AccessDenied":      {"cdk synth", "go run"}, // fails
	} {
		all, err := calls(t, []string{"BOOTSTRAPPED=" + bootstrapped}, "make", "--silent", "--old-file=.tools/cdk/node_modules/.package-lock.json", "deploy", "GO=go", "CDK_CLI=cdk", "CDK=-c alarmTopic=none")
		if failed := err != nil; failed != (bootstrapped == "AccessDenied") {
			t.Errorf("%s: make deploy: %v", bootstrapped, err)
		}
		var got []string
		for _, call := range all {
			words := strings.Fields(call)
			if name := strings.Join(words[:2], " "); words[0] == "cdk" || name == "go run" {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", bootstrapped, diff)
		}
	}
}

// TestDeploy_Asks deploys nothing without a topic of alarms and without an answer.
func TestDeploy_Asks(t *testing.T) {
	t.Parallel()
	got, err := calls(t, []string{"BOOTSTRAPPED=yes"}, "make", "--silent", "--old-file=.tools/cdk/node_modules/.package-lock.json", "deploy", "GO=go", "CDK_CLI=cdk")
	if err == nil {
		t.Error("make deploy without a topic: no error")
	}
	for _, call := range got {
		if strings.HasPrefix(call, "cdk ") {
			t.Errorf("%s was called, want no step of the deployment", call)
		}
	}
}

// TestCleanFailed removes what a failed first deployment leaves behind, and refuses a stack that works.
func TestCleanFailed(t *testing.T) {
	t.Parallel()
	got, err := calls(t, []string{"STATUS=ROLLBACK_COMPLETE", "STACK=Orgops-acme"}, "make", "--silent", "clean-failed")
	errtest.Must(t, err)
	var changes []string
	for _, call := range got {
		if !strings.Contains(call, " describe-") && !strings.Contains(call, " list-") && !strings.Contains(call, " wait ") {
			changes = append(changes, call)
		}
	}
	want := []string{
		"aws dynamodb update-table --table-name Main-1 --no-deletion-protection-enabled", "aws dynamodb delete-table --table-name Main-1",
		"aws dynamodb update-table --table-name Keys-1 --no-deletion-protection-enabled", "aws dynamodb delete-table --table-name Keys-1",
		"aws kms schedule-key-deletion --key-id key-1 --pending-window-in-days 7",
		"aws cloudformation update-termination-protection --stack-name Orgops-acme --output text --no-enable-termination-protection",
		"aws cloudformation delete-stack --stack-name Orgops-acme --output text",
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for _, status := range []string{"CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "CREATE_IN_PROGRESS", ""} {
		got, err := calls(t, []string{"STATUS=" + status, "STACK=Orgops"}, "make", "--silent", "clean-failed")
		if err == nil {
			t.Errorf("a stack in state %q was cleaned, want it refused", status)
		}
		asked := []string{"aws cloudformation describe-stacks --stack-name Orgops --output text --query Stacks[0].StackStatus"}
		if diff := cmp.Diff(asked, got); diff != "" {
			t.Errorf("state %q: calls (-want +got):\n%s", status, diff)
		}
	}
}

// TestWorkflow checks that the workflow stores no key, may do no more than it needs, and pins its actions. make lint runs actionlint on it.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../.github/workflows/deploy.yml")
	errtest.Must(t, err)
	uses := 0
	for line := range strings.Lines(string(file)) {
		if stored.MatchString(line) {
			t.Errorf("%q names a stored key", line)
		}
		if _, action, found := strings.Cut(line, "uses: "); found {
			uses++
			if !pinned.MatchString(action) {
				t.Errorf("the action %q is not pinned to a commit", action)
			}
		}
	}
	if uses < 4 {
		t.Errorf("%d actions, want at least 4", uses)
	}
	rights := regexp.MustCompile(`(?m)^ *(permissions: \{\}|[a-z-]+: (?:write|read))$`).FindAllStringSubmatch(string(file), -1)
	var got []string
	for _, right := range rights {
		got = append(got, right[1])
	}
	if diff := cmp.Diff([]string{"permissions: {}", "contents: read", "id-token: write", "contents: read", "id-token: write"}, got); diff != "" {
		t.Errorf("rights of the workflow and of its two jobs (-want +got):\n%s", diff)
	}
}

var stored = regexp.MustCompile(`(?i)secrets\.|access-key`)

var pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+`)
