package main

import (
	"slices"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// TestHelp looks for every command in the help, and for the command of every alias.
func TestHelp(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	help(&b)
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		if line := strings.TrimSpace(c.name + " " + c.args); !strings.Contains(b.String(), " "+line) {
			t.Errorf("the help lacks %q", line)
		}
		if !strings.Contains(b.String(), c.about) {
			t.Errorf("the help lacks %q", c.about)
		}
	}
	for alias, name := range aliases() {
		if !slices.Contains(names, name) {
			t.Errorf("%s stands for %q, which is no command", alias, name)
		}
	}
}

// TestRun_Unknown runs a command that does not exist.
func TestRun_Unknown(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), []string{"nope"})
	if got, want := errtest.Message(err), `unknown command "nope"; see orgops help`; got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
}
