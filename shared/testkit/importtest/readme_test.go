package importtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// TestReadme_Packages checks that shared/README.md names every package of a group. A package inside of another one needs no
// mention, and a suite is named with its contract.
func TestReadme_Packages(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(root, "shared", "README.md"))
	errtest.Must(t, err)
	named := 0
	for pkg := range packages(t) {
		parts := strings.Split(pkg, "/")
		if len(parts) != 3 || parts[0] != "shared" || parts[1] == "testkit" {
			continue
		}
		named++
		if !strings.Contains(string(content), "`"+parts[2]+"`") {
			t.Errorf("shared/README.md does not name %s; describe it in the row of %s", pkg, parts[1])
		}
	}
	if named < 40 {
		t.Errorf("%d packages found, want at least 40", named)
	}
}

// TestReadme_Tests checks that each test that a document names is there.
func TestReadme_Tests(t *testing.T) {
	t.Parallel()
	const kinds = `(?:Test|Benchmark|Fuzz)[A-Z]\w*`
	has, declares := map[string]bool{}, regexp.MustCompile(`(?m)^func (`+kinds+`)\(`)
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, s.file))
		errtest.Must(t, err)
		for _, found := range declares.FindAllStringSubmatch(string(content), -1) {
			has[found[1]] = true
		}
	}
	named, names := 0, regexp.MustCompile("`("+kinds+")[^`]*`")
	for _, document := range files(t, ".md") {
		content, err := os.ReadFile(document)
		errtest.Must(t, err)
		for _, found := range names.FindAllStringSubmatch(string(content), -1) {
			named++
			if !has[found[1]] {
				t.Errorf("%s names %s, which is not there; name the test that shows it now", document, found[1])
			}
		}
	}
	if named < 100 {
		t.Errorf("%d tests named, want at least 100", named)
	}
}

// packages returns the folders that hold Go files.
func packages(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, s := range sources(t) {
		found[s.pkg] = true
	}
	return found
}
