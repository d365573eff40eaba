package lambdatest_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/lambdatest"
)

// maxSize limits a program for arm64, in bytes, because a larger one takes longer to load at each cold start. The stack is
// deployed for arm64 unless its operator chooses amd64, for which a program has 1 MB more.
const maxSize = 12_000_000

// sizeOf returns the limit of a function's program. integrations previews what a mapping gives and which verdicts follow, which
// links gojq, 0.9 MB, and Cedar, 1.4 MB; and it tries manifests, 0.5 MB. inbound maps and decides too, and certifies with every connector's parser. operations
// checks policies, carries out what executives asked for, which needs the connectors, sends test mails by SES, 0.6 MB, and takes the buttons of Slack, 0.1 MB. sso verifies OpenID Connect and SAML. mcp
// serves executives' actions and the reads of six groups, which decides by Cedar, by the protocol's library, 2.4 MB.
// integrations and syncer give integrations access at their providers, 0.1 MB; syncer reads the operator's secret for it.
// syncer maps the records of manifests, also of lists below other lists, with the mapping's interpreter, 0.8 MB. syncer and inbound speak PostgreSQL's protocol,
// 0.9 MB. operations, mcp and notifier have the world's time zones, 0.4 MB. The templates of notifier call methods by name, so the
// linker keeps every exported method, also all of SES; notifier also writes the brief, 0.3 MB.
// Every program reads many items at once, 0.02 MB.
// auth verifies passkeys by a library that knows every attestation, 1.9 MB and 0.2 ms of a cold start.
func sizeOf(function string) int {
	switch function {
	case "inbound":
		return 15_100_000
	case "integrations":
		return 14_800_000
	case "operations":
		return 15_800_000
	case "mcp":
		return 14_600_000
	case "notifier":
		return 20_500_000
	case "auth":
		return 13_700_000
	case "executives", "sso":
		return 13_000_000
	case "syncer":
		return 14_300_000
	}
	return maxSize
}

// functions returns the names of all functions with a program.
func functions(t testing.TB) []string {
	t.Helper()
	folders, err := filepath.Glob("../../../functions/*/lambda")
	errtest.Must(t, err)
	if len(folders) < 14 {
		t.Fatalf("%d functions found, want at least 14", len(folders))
	}
	names := make([]string, 0, len(folders))
	for _, f := range folders {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

// TestBuild checks that every program is small enough, and that the folder of the checkout does not change it. Without a difference, Go's cache
// gives the same program twice; TestBuild_Linked checks that the linker would too.
func TestBuild(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds every program twice")
	}
	source, elsewhere := sources(t)
	for _, name := range functions(t) {
		t.Run(name, func(t *testing.T) {
			one, other := deployed(t, source, name), deployed(t, elsewhere, name)
			if one.sum != other.sum {
				t.Errorf("digest of the second build = %x, want the first's, %x", other.sum, one.sum)
			}
			if limit := sizeOf(name); one.size > limit {
				t.Errorf("%d bytes, want at most %d", one.size, limit)
			}
		})
	}
}

// TestBuild_Linked has the linker make a program in each folder, which Go's cache of programs would not.
func TestBuild_Linked(t *testing.T) {
	t.Parallel()
	source, elsewhere := sources(t)
	linked := func(from string) program {
		path := filepath.Join(t.TempDir(), "bootstrap")
		cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build"}, lambdatest.Flags...), "-o", path, "./functions/authorizer/lambda")...)
		cmd.Dir, cmd.Env = from, append(os.Environ(), "CGO_ENABLED=0", "PWD="+from)
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		return read(t, path)
	}
	if one, other := linked(source), linked(elsewhere); one.sum != other.sum {
		t.Errorf("digest of the second build = %x, want the first's, %x", other.sum, one.sum)
	}
}

// sources returns the module's folder, and another name of it.
func sources(t *testing.T) (source, elsewhere string) {
	t.Helper()
	source, err := filepath.Abs("../../..")
	errtest.Must(t, err)
	elsewhere = filepath.Join(t.TempDir(), "a-folder-of-another-name")
	errtest.Must(t, os.Symlink(source, elsewhere))
	return source, elsewhere
}

type program struct {
	size int
	sum  [sha256.Size]byte
}

func deployed(t *testing.T, from, name string) program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap")
	if err := lambdatest.Compile(t.Context(), from, "./functions/"+name+"/lambda", path, "GOOS=linux", "GOARCH=arm64", "PWD="+from); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

func read(t *testing.T, path string) program {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return program{len(text), sha256.Sum256(text)}
}
