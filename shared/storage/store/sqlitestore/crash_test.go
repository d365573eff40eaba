package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
)

// crashFile names the environment variable with the path of the file, set only in TestStore_CrashChild's process.
const crashFile = "SQLITESTORE_CRASH_FILE"

// TestStore_Crash repeatedly kills a process that commits and consumes. It expects every acknowledged commit to be stored,
// and its change to be delivered before or after the kill.
func TestStore_Crash(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orgops.db")
	acknowledged, handed := make(map[string]bool), make(map[string]bool)
	for round := range 6 {
		runAndKill(t, path, 300+137*round, acknowledged, handed)
	}
	db := openFile(t, path)
	s := openStore(t, db, sqlitestore.Options{Consumers: []string{"alpha"}, Upkeep: -1})
	for line := range acknowledged {
		company, key, _ := strings.Cut(line, " ")
		if _, err := store.For(s, company).Get(t.Context(), key, nil); err != nil {
			t.Fatalf("%s was acknowledged but is not stored: %v", line, err)
		}
	}
	missing := 0
	for line := range acknowledged {
		if !handed[line] {
			missing++
		}
	}
	t.Logf("%d commits acknowledged, %d of them not delivered before the kill", len(acknowledged), missing)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := s.Consume(ctx, "alpha", func(_ context.Context, b store.Batch, done func(error)) {
		for _, c := range b.Changes {
			line := c.Company + " " + c.Key
			if handed[line] && !b.Replay {
				t.Errorf("%s redelivered without being marked as a replay", line)
			}
			if acknowledged[line] && !handed[line] {
				missing--
			}
			handed[line] = true
		}
		done(nil)
		if missing == 0 {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if missing != 0 {
		t.Errorf("%d acknowledged changes not delivered, want none", missing)
	}
}

// runAndKill starts the child, reads the given number of lines of its output, and kills it.
func runAndKill(t *testing.T, path string, lines int, acknowledged, handed map[string]bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStore_CrashChild$")
	cmd.Env = append(os.Environ(), crashFile+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	n := 0
	for scanner.Scan() { // to the end: lines still in the pipe were done before the kill
		kind, rest, _ := strings.Cut(scanner.Text(), " ")
		switch kind {
		case "acknowledged":
			acknowledged[rest] = true
		case "handed":
			handed[rest] = true
		default:
			continue
		}
		if n++; n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatalf("child ended on its own, want it killed after %d lines", lines)
	}
	if n < lines {
		t.Fatalf("child ended after %d lines, want %d", n, lines)
	}
}

func TestStore_CrashChild(t *testing.T) {
	path := os.Getenv(crashFile)
	if path == "" {
		t.Skip("runs in the process that TestStore_Crash kills")
	}
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlitestore.Open(t.Context(), db, sqlitestore.Options{Consumers: []string{"alpha"}, Unfinished: 100})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		handed := 0
		err := s.Consume(t.Context(), "alpha", func(_ context.Context, b store.Batch, done func(error)) {
			for _, c := range b.Changes {
				fmt.Printf("handed %s %s\n", c.Company, c.Key)
			}
			// It finishes a few changes and then stops, so that it falls behind and the kill loses its changes in flight.
			if handed += len(b.Changes); handed < 100 {
				done(nil)
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	for range 8 {
		wg.Go(func() {
			c := store.For(s, id.New())
			for {
				key := id.New()
				if err := c.Commit(t.Context(), c.Create(key, "note", body)); err != nil {
					t.Error(err)
					return
				}
				fmt.Printf("acknowledged %s %s\n", c.ID(), key)
			}
		})
	}
	wg.Wait()
}
