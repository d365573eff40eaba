package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"orgops/local/command/admin"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

var dynamo, sqs, moto = awstest.DynamoDB(), awstest.SQS(), awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, sqs, moto)) }

// environment holds the variables that an operator has exported.
type environment map[string]string

// deployed creates a stack's two tables and returns its environment, with more variables added.
func deployed(t *testing.T, more ...string) (environment, *dynamostore.Store) {
	t.Helper()
	access, e := awstest.Access(t, dynamo, moto), environment{"ORGOPS_BACKEND": "aws", "ORGOPS_TABLE": t.Name(), "ORGOPS_KEYS_TABLE": t.Name() + "-keys"}
	for _, table := range []string{t.Name(), t.Name() + "-keys"} {
		if err := dynamostore.Create(t.Context(), access, table, dynamostore.Shape{Stream: true}); err != nil {
			t.Fatal(err)
		}
	}
	return e.with(append(awstest.Environment(t, dynamo, sqs, moto), more...)...), dynamostore.New(access, dynamostore.Options{Table: t.Name()})
}

// with returns a copy with more variables, each as NAME=value.
func (e environment) with(variables ...string) environment {
	all := environment{}
	for name, value := range e {
		all[name] = value
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	return all
}

func (e environment) get(name string) string { return e[name] }

// run runs a command and returns what it prints to standard output and to standard error.
func (e environment) run(t *testing.T, args ...string) (out, told string, err error) {
	t.Helper()
	c, err := config.Read(e.get)
	if err != nil {
		t.Fatal(err)
	}
	var result, more bytes.Buffer
	err = admin.Run(t.Context(), admin.Env{Config: c, Getenv: e.get, Out: &result, Err: &more}, args)
	return result.String(), more.String(), err
}

// vault opens the vault of a process that starts with these variables.
func (e environment) vault(t *testing.T) vault.Vault {
	t.Helper()
	c, err := cloud.Read(e.get)
	if err != nil {
		t.Fatal(err)
	}
	return kms.Vault(c)
}

// tenants registers companies; the first ones of them seal a text each.
func (e environment) tenants(t *testing.T, main *dynamostore.Store, companies, sealing int) map[string][]byte {
	t.Helper()
	v, sealed := e.vault(t), map[string][]byte{}
	for i := range companies {
		c := id.New()
		if err := main.Commit(t.Context(), store.RegistryOf(c).Entry(c, company.RegistryEntity, 0, company.Entry{ID: c})); err != nil {
			t.Fatal(err)
		}
		if i >= sealing {
			continue
		}
		var err error
		if sealed[c], err = v.Seal(t.Context(), c, "github/token", []byte("secret of "+c)); err != nil {
			t.Fatal(err)
		}
	}
	return sealed
}

// opens returns nil if every company's sealed text opens.
func opens(ctx context.Context, v vault.Vault, sealed map[string][]byte) error {
	for c, text := range sealed {
		if got, err := v.Open(ctx, c, "github/token", text); err != nil || string(got) != "secret of "+c {
			return fmt.Errorf("%s: %q, %w", c, got, err)
		}
	}
	return nil
}

// TestRewrap_KMS replaces the KMS key while the service runs. With both keys the service opens every text at any moment;
// afterwards it needs only the new key.
func TestRewrap_KMS(t *testing.T) {
	t.Parallel()
	const companies, sealing = 120, 15
	base, main := deployed(t)
	access := moto.Access(t)
	old, next := awstest.WrappingKey(t, access), awstest.WrappingKey(t, access)
	before := base.with("ORGOPS_WRAPPING_KEY=" + old)
	both := base.with("ORGOPS_WRAPPING_KEY="+next, "ORGOPS_FORMER_WRAPPING_KEYS="+old)
	after := base.with("ORGOPS_WRAPPING_KEY=" + next)
	sealed := before.tenants(t, main, companies, sealing)

	out, told, err := after.run(t, "keys", "rewrap")
	if err == nil {
		t.Error("without the former key: no error")
	}
	if want := "ORGOPS_FORMER_WRAPPING_KEYS is not set"; !strings.Contains(told, want) {
		t.Errorf("without the former key: printed %q, want a text with %q", told, want)
	}
	if got := strings.Count(out, `"error"`); got != sealing {
		t.Errorf("without the former key: %d errors, want %d: %s", got, sealing, out)
	}
	if want := fmt.Sprintf(`{"rewrapped":0,"current":0,"without":%d,"failed":%d,"resealed":0}`, companies-sealing, sealing); !strings.Contains(out, want) {
		t.Errorf("without the former key: output = %s, want one with %s", out, want)
	}

	ended, ctx := make(chan struct{}), t.Context()
	var serving sync.WaitGroup
	rounds := 0
	serving.Go(func() {
		for stop := false; !stop; rounds++ {
			select {
			case <-ended:
				stop = true // after one more round
			default:
			}
			if err := opens(ctx, both.vault(t), sealed); err != nil { // as a process that has just started
				t.Error("during the rewrap:", err)
				return
			}
		}
	})
	out, told, err = both.run(t, "keys", "rewrap")
	close(ended)
	serving.Wait()
	want := fmt.Sprintf(`{"rewrapped":%d,"current":0,"without":%d,"failed":0,"resealed":0}`, sealing, companies-sealing) + "\n"
	errtest.Must(t, err)
	if out != want {
		t.Errorf("output = %s, want %s", out, want)
	}
	if want := "100 companies processed\n"; !strings.Contains(told, want) {
		t.Errorf("printed %q, want a text with %q", told, want)
	}
	if rounds < 1 {
		t.Errorf("%d rounds of reading, want at least 1", rounds)
	}
	out, _, err = both.run(t, "keys", "rewrap")
	errtest.Must(t, err)
	if want := fmt.Sprintf(`"rewrapped":0,"current":%d`, sealing); !strings.Contains(out, want) {
		t.Errorf("again: output = %s, want one with %s", out, want)
	}
	if err := opens(ctx, after.vault(t), sealed); err != nil {
		t.Error("without the former key:", err)
	}
	if err := opens(ctx, before.vault(t), sealed); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("with the former key only: err = %v, want %v", err, vault.ErrSealed)
	}
}

// TestCompany_Gateway creates companies on a stack's settings, where a company of a paid plan gets its usage key; a repeated command
// adds a missing one. Without those settings the command warns the operator.
func TestCompany_Gateway(t *testing.T) {
	t.Parallel()
	access := moto.Access(t)
	free, pro := awstest.UsagePlan(t, access, "free"), awstest.UsagePlan(t, access, "pro")
	base, _ := deployed(t)
	stack := base.with("ORGOPS_USAGE_PLANS=free=" + free + ",pro=" + pro)
	type created struct{ CompanyID, Password, Warning string }
	create := func(e environment, email string, more ...string) (answer created, told string) {
		t.Helper()
		out, told, err := e.run(t, append([]string{"company", "create", "--name", "Acme", "--email", email}, more...)...)
		if err == nil {
			err = json.Unmarshal([]byte(out), &answer)
		}
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return answer, told
	}
	wantKey := func(plan, company string, want bool) {
		t.Helper()
		if keys := awstest.UsageKeys(t, access, plan); slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, "company-"+company+"-") }) != want {
			t.Errorf("the plan has keys %q, want one of company %s: %t", keys, company, want)
		}
	}
	a, told := create(stack, "a@example.com")
	wantKey(free, a.CompanyID, false)
	if a.Password == "" {
		t.Error("the answer has no password")
	}
	if a.Warning != "" {
		t.Errorf("warning = %q, want none", a.Warning)
	}
	if told != "" {
		t.Errorf("printed %q, want nothing", told)
	}
	b, _ := create(stack, "b@example.com", "--plan", "pro")
	wantKey(pro, b.CompanyID, true)
	wantKey(free, b.CompanyID, false)
	without, told := create(base, "c@example.com", "--plan", "pro")
	wantKey(pro, without.CompanyID, false)
	if want := "AdminVariables"; !strings.Contains(told, want) {
		t.Errorf("printed %q, want a text with %s", told, want)
	}
	again, _ := create(stack, "c@example.com", "--plan", "pro")
	if again.CompanyID != without.CompanyID {
		t.Errorf("again: company = %s, want %s", again.CompanyID, without.CompanyID)
	}
	wantKey(pro, again.CompanyID, true)
	_, _, err := stack.run(t, "company", "create", "--name", "D", "--email", "d@example.com", "--plan", "golden")
	if got, want := errtest.Message(err), "golden"; !strings.Contains(got, want) {
		t.Errorf("error %q, want one with %q", got, want)
	}
}
