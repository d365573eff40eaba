package filetail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orgops/shared/base/filetail"
)

func TestOf(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if got := filetail.Of(f, 10); len(got) != 0 {
		t.Errorf("empty file: %q", got)
	}
	if _, err := f.WriteString(strings.Repeat("line\n", 100) + "the end\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if got := filetail.Of(f, 10); string(got) != "e\nthe end" {
		t.Errorf("last 10 bytes: %q", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := filetail.Of(f, 10); !strings.Contains(string(got), "closed") {
		t.Errorf("closed file: %q", got)
	}
}
