package admin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"

	"orgops/local/command/admin"
	"orgops/shared/domain/company"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
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
	if len(lines) != 23 {
		t.Errorf("%d commands, want 23", len(lines))
	}
	help := func(args ...string) string {
		t.Helper()
		_, told, err := run("", args...)
		if !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q: err = %v, want %v", args, err, flag.ErrHelp)
		}
		return told
	}
	for _, args := range [][]string{{}, {"-h"}, {"help"}, {"keys", "--help"}} {
		if told, want := help(args...), strings.TrimSpace(lines[18]); !strings.Contains(told, want) {
			t.Errorf("%q: printed %s, want a text with %q", args, told, want)
		}
	}
	for _, line := range lines {
		words := strings.Fields(line)
		told := help(words[2], words[3], "-h")
		if want := strings.Join(words[:4], " "); !strings.HasPrefix(told, want) {
			t.Errorf("printed %s, want it to begin with %q", told, want)
		}
		if len(words) > 4 && strings.HasPrefix(words[4], "-") && !strings.Contains(told, "  "+words[4][1:]) {
			t.Errorf("%q: printed %s, want the flag %s in it", words[:4], told, words[4])
		}
	}
	for _, args := range [][]string{{"keys"}, {"keys", "forget"}, {"company", "list", "all"}, {"keys", "rotate", "--now"}, {"user", "add", "--company"}} {
		out, _, err := run("", args...)
		if err == nil {
			t.Errorf("%q: no error", args)
		}
		if errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q: err = %v, want another error", args, err)
		}
		if out != "" {
			t.Errorf("%q: output = %s, want none", args, out)
		}
	}
}

// TestUser_Integration adds a user of an integration with its provider only.
func TestUser_Integration(t *testing.T) {
	t.Parallel()
	run := laptop(t)
	add := func(args ...string) error {
		_, _, err := run("", append([]string{"user", "add", "--company", "acme", "--email", "bot@example.com"}, args...)...)
		return err
	}
	for _, wrong := range []struct {
		args  []string
		holds string
	}{
		{[]string{"--role", "integration"}, "--provider"},
		{[]string{"--role", "integration", "--provider", "unknown"}, "known are feed, github, gitlab"},
		{[]string{"--role", "member", "--provider", "github"}, "--provider"},
	} {
		if got := errtest.Message(add(wrong.args...)); !strings.Contains(got, wrong.holds) {
			t.Errorf("%q: error %q, want one with %q", wrong.args, got, wrong.holds)
		}
	}
	errtest.Must(t, add("--role", "integration", "--provider", "github"))
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
	if got, want := [...]string{changed.UserID, changed.CompanyID}, [...]string{made.UserID, made.CompanyID}; got != want {
		t.Errorf("user and company = %q, want %q", got, want)
	}
	for _, old := range []string{made.Password, ""} {
		if changed.Password == old {
			t.Errorf("password = %q, want a new one", old)
		}
	}
	out, _, err := run("a long enough one\n", "user", "password", "--email", "ada@example.com", "--password-stdin")
	errtest.Must(t, err)
	if strings.Contains(out, "password") {
		t.Errorf("output = %s, want one without a password", out)
	}
	for _, wrong := range []struct{ in, email, holds string }{
		{"short", "ada@example.com", "--password"}, {"a long enough one", "eve@example.com", "no such user"}, {"a long enough one", "eve", "--email"},
	} {
		_, _, err := run(wrong.in, "user", "password", "--email", wrong.email, "--password-stdin")
		if got := errtest.Message(err); !strings.Contains(got, wrong.holds) {
			t.Errorf("%+v: error %q, want one with %q", wrong, got, wrong.holds)
		}
	}
}
