//go:build unix

package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/local/process"
	"orgops/shared/testkit/errtest"
)

// TestOpenEmbedded_Writable refuses a folder and files that other users can write to, says what to do, and opens them once that is
// done. It follows a link, and checks where the link leads.
func TestOpenEmbedded_Writable(t *testing.T) {
	t.Parallel()
	above := filepath.Join(t.TempDir(), "above")
	folder, link := filepath.Join(above, "data"), filepath.Join(t.TempDir(), "link")
	errtest.Must(t, os.Mkdir(above, 0o700))
	errtest.Must(t, os.Symlink(folder, link))
	open := func(path string) error {
		e, err := process.OpenEmbedded(t.Context(), path, true, time.Now)
		if err != nil {
			return err
		}
		return e.Close()
	}
	errtest.Must(t, open(folder))
	errtest.Must(t, open(link))
	database := filepath.Join(folder, "orgops.db")
	for _, tt := range []struct {
		path   string
		mode   os.FileMode
		remedy string
	}{
		{folder, 0o777, "chmod 700 "}, {folder, 0o770, "chmod 700 "}, {folder, os.ModeSticky | 0o777, "chmod 700 "},
		{database, 0o666, "chmod 600 "}, {database, 0o620, "chmod 600 "}, {database + "-wal", 0o622, "chmod 600 "},
		{filepath.Join(folder, "serving.lock"), 0o666, "chmod 600 "}, {filepath.Join(folder, "vault.key"), 0o620, "chmod 600 "},
		{above, 0o777, "chmod o-w "},
	} {
		if strings.HasSuffix(tt.path, "-wal") { // the last close removed it
			errtest.Must(t, os.WriteFile(tt.path, nil, 0o600))
		}
		info, err := os.Stat(tt.path)
		errtest.Must(t, err)
		errtest.Must(t, os.Chmod(tt.path, tt.mode))
		for _, path := range []string{folder, link} {
			if err := open(path); !strings.Contains(fmt.Sprint(err), tt.remedy+tt.path) {
				t.Errorf("%s with mode %v: error = %v, want one with %q", tt.path, tt.mode, err, tt.remedy+tt.path)
			}
		}
		errtest.Must(t, os.Chmod(tt.path, info.Mode()))
		errtest.Must(t, open(folder))
	}
	for _, mode := range []os.FileMode{0o755, 0o700} { // others may look, not write
		errtest.Must(t, os.Chmod(folder, mode))
		errtest.Must(t, open(folder))
	}
}
