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
		t.Errorf("empty file: %q, want nothing", got)
	}
	if _, err := f.WriteString(strings.Repeat("line\n", 100) + "the end\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if got, want := string(filetail.Of(f, 10)), "e\nthe end"; got != want {
		t.Errorf("last 10 bytes: %q, want %q", got, want)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := filetail.Of(f, 10); !strings.Contains(string(got), "closed") {
		t.Errorf("closed file: %q, want a text with \"closed\"", got)
	}
}
