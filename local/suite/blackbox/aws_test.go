package blackbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"orgops/shared/testkit/awstest"
)

var dynamo, sqs, moto = awstest.DynamoDB(), awstest.SQS(), awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, sqs, moto)) }

// startAWS starts the program on stand-ins for DynamoDB with its streams, SQS, KMS and Secrets Manager. `admin aws create` makes
// the tables, queues and keys, and prints the settings that name them.
func startAWS(t *testing.T) *target {
	program := build(t)
	env := awstest.Environment(t, dynamo, sqs, moto)
	create := exec.CommandContext(t.Context(), program, "admin", "aws", "create", "--prefix", "blackbox")
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
	return startProgram(t, program, env...)
}
