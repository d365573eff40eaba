package upgrade

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/shared/base/freeport"
	"orgops/shared/domain/sso"
	"orgops/shared/storage/sqlitedb"
	"orgops/shared/testkit/errtest"
)

// fixture holds the data folder of the release before.
const fixture = "testdata/former.tar.gz"

// unpack returns a copy of the data folder of the release before.
func unpack(t *testing.T) string {
	t.Helper()
	file, err := os.Open(fixture)
	errtest.Must(t, err)
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	errtest.Must(t, err)
	dir, archive := t.TempDir(), tar.NewReader(zipped)
	errtest.Must(t, os.Chmod(dir, 0o700))
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		errtest.Must(t, err)
		text, err := io.ReadAll(archive)
		errtest.Must(t, err)
		errtest.Must(t, os.WriteFile(filepath.Join(dir, filepath.Base(head.Name)), text, 0o600))
	}
}

// pack writes a data folder as the fixture, without times and owners.
func pack(t *testing.T, dir string) {
	t.Helper()
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	errtest.Must(t, err)
	archive := tar.NewWriter(zipped)
	entries, err := os.ReadDir(dir)
	errtest.Must(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		errtest.Must(t, err)
		errtest.Must(t, archive.WriteHeader(&tar.Header{Name: e.Name(), Mode: 0o600, Size: int64(len(text))}))
		_, err = archive.Write(text)
		errtest.Must(t, err)
	}
	errtest.Must(t, archive.Close())
	errtest.Must(t, zipped.Close())
	errtest.Must(t, os.WriteFile(fixture, packed.Bytes(), 0o600))
	t.Logf("%s has %d bytes", fixture, packed.Len())
}

// written has the program of the release before store what drive asks for, in a new data folder.
func written(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	port, err := freeport.Find(t.Context())
	errtest.Must(t, err)
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), program, args...)
		c.Env = []string{"ORGOPS_DATA=" + dir, "ORGOPS_ADDR=" + strings.TrimPrefix(base, "http://"), "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		c.Stderr = t.Output()
		return c
	}
	create := command("admin", "company", "create", "--name", "Acme", "--email", founderEmail, "--plan", sso.Plan, "--password-stdin")
	create.Stdin = strings.NewReader(founderPassword + "\n")
	errtest.Must(t, create.Run())
	serve := command()
	errtest.Must(t, serve.Start())
	awaitHealth(t, base)
	driven := drive(t.Context(), base)
	errtest.Must(t, serve.Process.Signal(os.Interrupt))
	_ = serve.Wait() // the program says on its own output what is wrong
	errtest.Must(t, driven)
	keepForever(t, filepath.Join(dir, "orgops.db"))
	return dir
}

// keepForever has the items of the fixture not expire: the tests read them for as long as the fixture is used. Its logins do not count against
// the limit of those that the tests make.
func keepForever(t *testing.T, file string) {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), file, sqlitedb.Options{})
	errtest.Must(t, err)
	errtest.Must(t, db.Migrate(t.Context(), "fixture", []string{"UPDATE item SET expires = 0 WHERE entity != 'timer'; DELETE FROM item WHERE entity = 'tries'"}))
	errtest.Must(t, db.Close())
}

// awaitHealth waits until a service answers.
func awaitHealth(t *testing.T, base string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/health", http.NoBody)
		errtest.Must(t, err)
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not answer within a minute", base)
		case <-tick.C:
		}
	}
}
