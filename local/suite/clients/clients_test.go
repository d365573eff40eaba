package clients_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// generated is a generator's client and the program that uses it.
type generated struct {
	language string
	build    func(t *testing.T, folder string) (program []string) // generates and compiles in a folder that has openapi.json
}

// wanted is what each program prints.
var wanted = []*regexp.Regexp{
	regexp.MustCompile(`^logged in to [0-9a-f-]{36}$`),
	regexp.MustCompile(`^configured webhook: sandbox$`),
	regexp.MustCompile(`^listed webhook: sandbox, no attempts$`),
	regexp.MustCompile(`^health [a-z]+: (no score|[0-9]+), [1-9][0-9]* checks$`),
	regexp.MustCompile(`^dashboard: [1-9][0-9]* checks, 0 open goals$`),
	regexp.MustCompile(`^refused 422: /problems/invalid /rateLimit$`),
}

func TestClients(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t)
	document := fetch(t, s.URL+"/openapi.json")
	for _, g := range []generated{
		{"TypeScript", typescript},
		{"Python", python},
		{"Go", golang},
		{"Java", java},
	} {
		founder := s.Found(g.language)
		t.Run(g.language, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			errtest.Must(t, os.WriteFile(filepath.Join(folder, "openapi.json"), document, 0o600))
			program := g.build(t, folder)
			printed := run(t, folder, []string{
				"ORGOPS_URL=" + s.URL, "ORGOPS_EMAIL=" + founder.Email, "ORGOPS_PASSWORD=" + founder.Password,
			}, program...)
			check(t, printed)
		})
	}
}

// check compares what a program printed, line by line.
func check(t *testing.T, printed string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	if len(lines) != len(wanted) {
		t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(wanted), printed)
	}
	for i, want := range wanted {
		if !want.MatchString(lines[i]) {
			t.Errorf("got line %d %q, want %s", i+1, lines[i], want)
		}
	}
}

// patience bounds each run of a tool or a program, also on a busy machine.
const patience = 3 * time.Minute

// run runs a tool or a program in a folder, with settings added to its environment, and returns its output.
func run(t *testing.T, folder string, settings []string, command ...string) string {
	t.Helper()
	return servicetest.Command(t, patience, func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Env = folder, append(os.Environ(), settings...)
	}, command[0], command[1:]...)
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	res, err := http.Get(url)
	errtest.Must(t, err)
	defer res.Body.Close()
	document, err := io.ReadAll(res.Body)
	errtest.Must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: got %d, want 200: %s", url, res.StatusCode, document)
	}
	return document
}

// copyTo copies a client's own files, such as its program, into the folder.
func copyTo(t *testing.T, folder string, files ...string) {
	t.Helper()
	for _, file := range files {
		content, err := os.ReadFile(file)
		errtest.Must(t, err)
		errtest.Must(t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), content, 0o600))
	}
}
