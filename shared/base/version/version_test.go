package version_test

import (
	"os"
	"regexp"
	"testing"

	"orgops/shared/base/version"
	"orgops/shared/testkit/errtest"
)

func TestBuild_String(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]version.Build{
		"1.2.3":                    {Release: "1.2.3"},
		"1.2.3 (commit abc-dirty)": {Release: "1.2.3", Commit: "abc-dirty"},
	} {
		if got := b.String(); got != want {
			t.Errorf("%+v is %q, want %q", b, got, want)
		}
	}
}

// TestRelease checks the form of the release, and that no released version in the changelog is newer.
func TestRelease(t *testing.T) {
	t.Parallel()
	if form := regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`); !form.MatchString(version.Release) {
		t.Errorf("release %q, want a version of Semantic Versioning", version.Release)
	}
	changes, err := os.ReadFile("../../../CHANGELOG.md")
	errtest.Must(t, err)
	newest := regexp.MustCompile(`(?m)^## \[(\d[^\]]*)\]`).FindSubmatch(changes)
	if len(newest) > 1 && string(newest[1]) != version.Release {
		t.Errorf("the changelog's newest release is %s, want %s", newest[1], version.Release)
	}
}
