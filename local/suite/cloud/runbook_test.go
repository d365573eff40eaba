package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"orgops/local/command/admin"
	"orgops/local/suite/servicetest"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// rehearsal bounds the deployments and rehearsals on a busy machine.
const rehearsal = 15 * time.Minute

// TestRunbook rehearses what infra/README.md asks of an operator, on one deployed stack: what the alarm CanaryLate watches, a change that
// Lambda discards, and a restore.
func TestRunbook(t *testing.T) {
	t.Parallel()
	servicetest.Full(t, "what make tools installs")
	ctx, stop := context.WithTimeout(t.Context(), rehearsal)
	defer stop()
	s, err := Start(ctx, Options{Log: t.Output()})
	errtest.Must(t, err)
	t.Cleanup(func() { _ = s.Close() }) // its folder is under the test's own temporary files
	made, err := s.CreateCompany(ctx, "Acme", founderEmail, founderPassword)
	errtest.Must(t, err)
	u := visitor{t: t, url: s.URL, company: made.CompanyID}
	u.login()
	for _, step := range []struct {
		name string
		do   func(context.Context, *testing.T, *Stack, visitor)
	}{{"Canary", echoes}, {"Replay", replays}, {"Restore", restores}} {
		if !t.Run(step.name, func(t *testing.T) {
			u.t = t
			step.do(ctx, t, s, u)
		}) {
			return
		}
	}
}

// variable returns a variable of "First company", which the operator's commands need.
func (s *Stack) variable(name string) string {
	for _, pair := range append(s.Environment(), strings.Fields(strings.TrimPrefix(s.Outputs["AdminVariables"], "export "))...) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// admin runs a command of `orgops admin` with the stack's variables, and returns what it prints.
func (s *Stack) admin(ctx context.Context, t *testing.T, command string) []byte {
	t.Helper()
	c, err := config.Read(s.variable)
	errtest.Must(t, err)
	var out bytes.Buffer
	errtest.Must(t, admin.Run(ctx, admin.Env{Config: c, Getenv: s.variable, Out: &out, Err: t.Output()}, strings.Fields(command)))
	return out.Bytes()
}

// aws runs a command of the AWS CLI, and reads what it prints into out.
func (s *Stack) aws(ctx context.Context, t *testing.T, out any, args ...string) {
	t.Helper()
	found, err := findTools()
	errtest.Must(t, err)
	cmd := exec.CommandContext(ctx, found.python, append([]string{"-m", "awscli", "--endpoint-url", s.Endpoint, "--output", "json"}, args...)...)
	cmd.Env, cmd.Stderr = append(s.Environment(), "HOME="+s.temporary()), t.Output()
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("aws %s: %v", strings.Join(args, " "), err)
	}
	if out != nil {
		errtest.Must(t, json.Unmarshal(printed, out))
	}
}

// function returns the full name of a function of the stack.
func (s *Stack) function(ctx context.Context, t *testing.T, name string) string {
	t.Helper()
	var names []string
	s.aws(ctx, t, &names, "lambda", "list-functions", "--query", "Functions[?contains(FunctionName, '"+name+"')].FunctionName")
	if len(names) != 1 {
		t.Fatalf("functions of the name %s: %q, want one", name, names)
	}
	return names[0]
}
