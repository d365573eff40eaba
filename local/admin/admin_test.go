package admin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"

	"orgops/local/admin"
	"orgops/shared/domain/company"
	"orgops/shared/run/config"
)

// laptop returns a function that runs commands on an embedded store.
func laptop(t *testing.T) func(in string, args ...string) (out, told string, err error) {
	t.Helper()
	folder := t.TempDir()
	return func(in string, args ...string) (string, string, error) {
		var out, told bytes.Buffer
		err := admin.Run(t.Context(), admin.Env{
			Config: config.Config{Data: folder}, Getenv: func(string) string { return "" }, In: strings.NewReader(in), Out: &out, Err: &told,
		}, args)
		return out.String(), told.String(), err
	}
}

func TestRun_Help(t *testing.T) {
	t.Parallel()
	run := laptop(t)
	lines := strings.Split(strings.TrimSpace(admin.Usage("orgops")), "\n")
	if len(lines) != 7 {
		t.Errorf("%d commands", len(lines))
	}
	for _, args := range [][]string{{}, {"-h"}, {"help"}, {"keys", "--help"}} {
		if _, told, err := run("", args...); !errors.Is(err, flag.ErrHelp) || !strings.Contains(told, strings.TrimSpace(lines[6])) {
			t.Errorf("%q: %s, %v", args, told, err)
		}
	}
	for _, line := range lines {
		words := strings.Fields(line)
		_, told, err := run("", words[2], words[3], "-h")
		if !errors.Is(err, flag.ErrHelp) || !strings.HasPrefix(told, strings.Join(words[:4], " ")) || len(words) > 4 && strings.HasPrefix(words[4], "-") && !strings.Contains(told, "  "+words[4][1:]) {
			t.Errorf("%q: %s, %v", words[:4], told, err)
		}
	}
	for _, args := range [][]string{{"keys"}, {"keys", "forget"}, {"company", "list", "all"}, {"keys", "rotate", "--now"}, {"user", "add", "--company"}} {
		if out, _, err := run("", args...); err == nil || errors.Is(err, flag.ErrHelp) || out != "" {
			t.Errorf("%q: %s, %v", args, out, err)
		}
	}
}

// TestUser_Password sets a new password, which the command either reads or generates and shows once.
func TestUser_Password(t *testing.T) {
	t.Parallel()
	run := laptop(t)
	var made, changed company.Provisioned
	for _, step := range []struct {
		into *company.Provisioned
		in   string
		args []string
	}{
		{&made, "", []string{"company", "create", "--name", "Acme", "--email", "ada@example.com"}},
		{&changed, "", []string{"user", "password", "--email", "ada@example.com"}},
	} {
		out, _, err := run(step.in, step.args...)
		if err == nil {
			err = json.Unmarshal([]byte(out), step.into)
		}
		if err != nil {
			t.Fatalf("%q: %s, %v", step.args, out, err)
		}
	}
	if changed.UserID != made.UserID || changed.CompanyID != made.CompanyID || changed.Password == made.Password || changed.Password == "" {
		t.Errorf("%+v became %+v", made, changed)
	}
	if out, _, err := run("a long enough one\n", "user", "password", "--email", "ada@example.com", "--password-stdin"); err != nil || strings.Contains(out, "password") {
		t.Errorf("%s, %v", out, err)
	}
	for _, wrong := range []struct{ in, email, holds string }{
		{"short", "ada@example.com", "--password"}, {"a long enough one", "eve@example.com", "no such user"}, {"a long enough one", "eve", "--email"},
	} {
		if _, _, err := run(wrong.in, "user", "password", "--email", wrong.email, "--password-stdin"); err == nil || !strings.Contains(err.Error(), wrong.holds) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
