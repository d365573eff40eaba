package blackbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/local/process"
	"orgops/local/suite/cloud"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// deployed is a stack that the suite has deployed into an emulated AWS.
type deployed struct {
	*cloud.Stack
	env      []string // of the service's commands
	target   *target
	expected int // refusals that checkRights has caused
}

// checkRefusals fails the test for each request of a function that its role did not allow.
func (d *deployed) checkRefusals(t *testing.T) {
	all, err := d.Refusals()
	errtest.Must(t, err)
	for _, r := range all[d.expected:] {
		t.Errorf("%s was refused %s on %s %s", r.Role, r.Action, r.Resource, r.Reason)
	}
}

// checkDrops fails the test for each invocation that Lambda would have dropped as a loop.
func (d *deployed) checkDrops(t *testing.T) {
	all, err := d.Drops()
	errtest.Must(t, err)
	for _, one := range all {
		t.Errorf("%s was invoked more than 16 times in one chain, the last time with %s", one.Function, one.Event)
	}
}

// checkRights takes a right from a role, and checks that the emulator then refuses what the function does with it.
func (d *deployed) checkRights(t *testing.T, _ *world) {
	create := func(name string) error {
		_, err := d.CreateCompany(t.Context(), name, name+"@example.com", password)
		return err
	}
	function := d.Outputs["ProvisionerName"]
	role := path.Base(d.aws(t, "lambda", "get-function-configuration", "--function-name", function, "--query", "Role", "--output", "text"))
	name := d.aws(t, "iam", "list-role-policies", "--role-name", role, "--query", "PolicyNames[0]", "--output", "text")
	whole := d.aws(t, "iam", "get-role-policy", "--role-name", role, "--policy-name", name, "--query", "PolicyDocument", "--output", "json")
	put := func(document string) {
		d.aws(t, "iam", "put-role-policy", "--role-name", role, "--policy-name", name, "--policy-document", document)
	}
	put(without(t, whole, "dynamodb:PutItem"))
	if create("refused") == nil {
		t.Error("the provisioner created a company without the right to write")
	}
	all, err := d.Refusals()
	errtest.Must(t, err)
	if len(all) == 0 {
		t.Error("no request was refused")
	}
	for _, r := range all {
		if got, want := r.Role+" "+r.Action, role+" dynamodb:PutItem"; got != want {
			t.Errorf("refused %s, want %s", got, want)
		}
	}
	d.expected = len(all)
	put(whole)
	errtest.Must(t, create("allowed"))
}

// without returns a policy without the statements that allow an action.
func without(t *testing.T, document, action string) string {
	t.Helper()
	var p struct {
		Version   string
		Statement []map[string]any
	}
	errtest.Must(t, json.Unmarshal([]byte(document), &p))
	before := len(p.Statement)
	p.Statement = slices.DeleteFunc(p.Statement, func(s map[string]any) bool { return s["Action"] == action })
	if len(p.Statement) == before {
		t.Fatalf("no statement allows only %s: %s", action, document)
	}
	text, err := json.Marshal(p)
	errtest.Must(t, err)
	return string(text)
}

// aws runs the AWS CLI against the emulator and returns what it prints.
func (d *deployed) aws(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	program, err := filepath.Abs(filepath.FromSlash("../../../.tools/cloud/bin/aws"))
	errtest.Must(t, err)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), d.Environment()...)
	printed, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("aws %s: %v\n%s", strings.Join(args, " "), err, printed)
	}
	return strings.TrimSpace(string(printed))
}

// checkExpiry lets a certification expire, which takes 90 days otherwise, and waits until its timer has put the integration
// back into the sandbox.
func (d *deployed) checkExpiry(t *testing.T, w *world) {
	t.Parallel()
	j := newJourney(t, "expiry", d.target, w, nil)
	j.login()
	r := j.receive("hook", newSecret())
	j.register("webhook", r, "memory.*")
	j.certify("webhook")
	errtest.Must(t, d.expire(t.Context(), j.company, "webhook"))
	j.await("the timeline shows it", get(j.at("/mission-control/timeline?kind=integration.sandboxed")), one)
}

// expire ends a certification a minute ago, and sets its timer.
func (d *deployed) expire(ctx context.Context, company, provider string) error {
	table, err := process.OpenTable(ctx, d.getenv, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	c := store.For(table, company)
	i, version, err := integration.Load(ctx, c, provider)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	i.Certification.ExpiresAt = now.Add(-time.Minute)
	return c.Commit(ctx, c.Replace(integration.Key(provider), integration.Entity, version, i),
		c.Timer(now, integration.ExpiryTimer, fmt.Sprintf("%s@%d", provider, version+1)))
}

// getenv returns a variable of the stack's environment.
func (d *deployed) getenv(name string) string {
	for _, variable := range slices.Backward(d.env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}
