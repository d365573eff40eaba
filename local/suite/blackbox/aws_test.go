package blackbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/programtest"
)

var dynamo, sqs, moto = awstest.DynamoDB(), awstest.SQS(), awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, sqs, moto)) }

// startAWS starts the program on stand-ins for DynamoDB with its streams, SQS, KMS and Secrets Manager.
func startAWS(t *testing.T) *target {
	program := programtest.Orgops(t)
	started := startProgram(t, program, onAWS(t, program, "blackbox")...)
	started.checks = []check{{"people and machines are told", func(t *testing.T, _ *world) { told(t, program, onAWS(t, program, "told")...) }}}
	return started
}

// onAWS returns the settings of the program on the stand-ins. `admin aws create` makes the tables, queues and keys, whose names begin with
// the prefix, and prints the settings that name them.
func onAWS(t *testing.T, program, prefix string) []string {
	t.Helper()
	env := awstest.Environment(t, dynamo, sqs, moto)
	create := exec.CommandContext(t.Context(), program, "admin", "aws", "create", "--prefix", prefix)
	create.Env, create.Stderr = append(os.Environ(), env...), os.Stderr
	printed, err := create.Output()
	if err != nil {
		t.Fatalf("%s admin aws create: %v", filepath.Base(program), err)
	}
	for line := range strings.Lines(string(printed)) {
		if assignment, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			name, value, _ := strings.Cut(assignment, "=")
			env = append(env, name+"="+strings.Trim(value, "'"))
		}
	}
	return env
}
