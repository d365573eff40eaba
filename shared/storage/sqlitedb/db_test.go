package sqlitedb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	modernc "modernc.org/sqlite"
	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/testkit/errtest"
)

var errRefused = errors.New("refused")

// insert adds one row as a unit. A test can make its Check or its Apply fail.
type insert struct {
	id, note  int64
	refuse    bool
	broken    bool
	committed func()
}

func (u *insert) Check(*sqlite.Conn) error {
	if u.refuse {
		return errRefused
	}
	return nil
}

func (u *insert) Apply(conn *sqlite.Conn) error {
	stmt, err := conn.Prepare("INSERT INTO thing (id, note) VALUES (?, ?)")
	if err != nil {
		return err
	}
	stmt.BindInt64(1, u.id)
	stmt.BindInt64(2, u.note)
	if err := sqlitedb.Step(stmt); err != nil {
		return err
	}
	if u.broken {
		return sqlitedb.Exec(conn, "INSERT INTO thing (id) VALUES (NULL)")
	}
	return nil
}

func (u *insert) Committed() {
	if u.committed != nil {
		u.committed()
	}
}

var steps = []string{"CREATE TABLE thing (id INT PRIMARY KEY NOT NULL, note INT);"}

func open(t testing.TB, path string) *sqlitedb.DB {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context(), "thing", steps); err != nil {
		t.Fatal(err)
	}
	return db
}

func count(t testing.TB, db *sqlitedb.DB) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare("SELECT count(*) FROM thing")
		if err != nil {
			return err
		}
		if _, err := stmt.Step(); err != nil {
			return err
		}
		n = stmt.ColumnInt(0)
		return stmt.Reset()
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestDB_Write(t *testing.T) {
	t.Parallel()

	t.Run("one unit's error does not affect the others of its group", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "data", "x.db"))
		// The first unit blocks the writer until the others wait, so that they form one group.
		entered, release := make(chan struct{}), make(chan struct{})
		first := make(chan error, 1)
		go func() {
			first <- db.Write(context.Background(), sqlitedb.Do(func(*sqlite.Conn) error {
				close(entered)
				<-release
				return nil
			}))
		}()
		<-entered
		var units []*insert
		for i := range int64(40) {
			units = append(units, &insert{id: i, refuse: i%5 == 0, broken: i%7 == 0})
		}
		var wg sync.WaitGroup
		answers := make([]error, len(units))
		for i, u := range units {
			wg.Go(func() { answers[i] = db.Write(context.Background(), u) })
		}
		close(release)
		wg.Wait()
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		want := 0
		for i, u := range units {
			switch {
			case u.refuse:
				if !errors.Is(answers[i], errRefused) {
					t.Errorf("unit %d: %v, want the error of its check", i, answers[i])
				}
			case u.broken:
				if sqlite.ErrCode(answers[i]) != sqlite.ResultConstraintNotNull {
					t.Errorf("unit %d: %v, want its own constraint error", i, answers[i])
				}
			default:
				want++
				if answers[i] != nil {
					t.Errorf("unit %d: %v", i, answers[i])
				}
			}
		}
		if got := count(t, db); got != want {
			t.Errorf("%d rows, want %d", got, want)
		}
	})

	t.Run("committed runs in order and before write returns", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "x.db"))
		var order, want []int64 // the writer owns order
		hooks := make(chan struct{}, 9)
		stop := db.AfterCommit(func() { hooks <- struct{}{} })
		for i := range int64(5) {
			if err := db.Write(t.Context(), &insert{id: i, committed: func() { order = append(order, i) }}); err != nil {
				t.Fatal(err)
			}
			want = append(want, i)
			if diff := cmp.Diff(want, order); diff != "" {
				t.Fatalf("committed units after %d writes (-want +got):\n%s", i+1, diff)
			}
			<-hooks
		}
		stop()
		errtest.Must(t, db.Write(t.Context(), &insert{id: 9}))
		errtest.Must(t, db.Write(t.Context(), &insert{id: 10})) // the writer has called the hooks of the transaction before
		if n := len(hooks); n != 0 {
			t.Fatalf("%d calls of the hook after stop or beyond one a transaction, want none", n)
		}
	})

	t.Run("a cancelled waiting unit is dropped", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "x.db"))
		entered, release := make(chan struct{}), make(chan struct{})
		first := make(chan error, 1)
		go func() {
			first <- db.Write(context.Background(), sqlitedb.Do(func(*sqlite.Conn) error {
				close(entered)
				<-release
				return nil
			}))
		}()
		<-entered
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := db.Write(ctx, &insert{id: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v, want the context's deadline error", err)
		}
		close(release)
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		if got := count(t, db); got != 0 {
			t.Errorf("%d rows, want none", got)
		}
	})
}

func TestDB_WriteLazily(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	t.Run("a lone unit commits after its linger time", func(t *testing.T) {
		start := time.Now()
		if err := db.WriteLazily(t.Context(), &insert{id: 1}, 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 20*time.Millisecond {
			t.Errorf("took %v, want at least the linger time", took)
		}
	})
	t.Run("a unit of Write does not wait for a lingering one", func(t *testing.T) {
		g := newGroup(t, open(t, filepath.Join(t.TempDir(), "x.db")))
		g.lazily(1)
		g.write(1)
		g.commit()
		g.wantWaiting(1)
	})
	t.Run("lingering units join several of Write, but not all at once", func(t *testing.T) {
		g := newGroup(t, open(t, filepath.Join(t.TempDir(), "x.db")))
		g.lazily(sqlitedb.MaxLazy + 1)
		g.write(sqlitedb.BusyGroup)
		g.commit()
		g.wantWaiting(1)
	})
}

// TestDB_WriteLazily_Few takes fewer lazy units into a transaction while units of Write keep coming.
func TestDB_WriteLazily_Few(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pressed time.Time
		want    int // transactions
	}{
		"under pressure": {time.Now().Add(time.Hour), 2},
		"else":           {time.Now().Add(-time.Hour), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, open(t, filepath.Join(t.TempDir(), "x.db")))
			g.db.Press(tt.pressed)
			transactions := -1 // the first one is newGroup's
			g.db.AfterCommit(func() { transactions++ })
			g.enqueue(sqlitedb.FewLazy+1, func(u sqlitedb.Unit) {
				g.wrote.Go(func() { g.must(g.db.WriteLazily(context.Background(), u, time.Nanosecond)) })
			})
			g.commit()
			errtest.Must(t, g.db.Write(t.Context(), sqlitedb.Do(func(*sqlite.Conn) error { // the writer owns transactions
				if transactions != tt.want {
					t.Errorf("%d transactions, want %d", transactions, tt.want)
				}
				return nil
			})))
		})
	}
}

// group fills the writer's queue while the writer is busy.
type group struct {
	t       *testing.T
	db      *sqlitedb.DB
	release chan struct{}
	wrote   sync.WaitGroup // units of Write
	next    int64
}

func newGroup(t *testing.T, db *sqlitedb.DB) *group {
	t.Helper()
	g := &group{t: t, db: db, release: make(chan struct{})}
	entered := make(chan struct{})
	g.wrote.Go(func() {
		_ = db.Write(context.Background(), sqlitedb.Do(func(*sqlite.Conn) error {
			close(entered)
			<-g.release
			return nil
		}))
	})
	<-entered
	return g
}

func (g *group) write(n int) {
	g.enqueue(n, func(u sqlitedb.Unit) { g.wrote.Go(func() { g.must(g.db.Write(context.Background(), u)) }) })
}

// lazily adds units that linger for longer than the test lasts. Closing the file commits them.
func (g *group) lazily(n int) {
	g.enqueue(n, func(u sqlitedb.Unit) { go func() { _ = g.db.WriteLazily(context.Background(), u, time.Hour) }() })
}

func (g *group) must(err error) {
	if err != nil {
		g.t.Error(err)
	}
}

func (g *group) enqueue(n int, start func(sqlitedb.Unit)) {
	want := g.db.Waiting() + n
	for range n {
		g.next++
		start(&insert{id: g.next})
	}
	for g.db.Waiting() < want {
		runtime.Gosched()
	}
}

// commit lets the writer go on, and waits for the units of Write.
func (g *group) commit() {
	close(g.release)
	g.wrote.Wait()
}

func (g *group) wantWaiting(n int) {
	g.t.Helper()
	if got := g.db.Waiting(); got != n {
		g.t.Errorf("%d units wait, want %d", got, n)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("only the owner can read the file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "data", "x.db")
		open(t, path)
		for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%s has mode %o, want %o", filepath.Base(name), got, want)
			}
		}
	})

	t.Run("two handles on one file take turns", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.db")
		a, b := open(t, path), open(t, path)
		var wg sync.WaitGroup
		for i := range int64(100) {
			db := a
			if i%2 == 0 {
				db = b
			}
			wg.Go(func() {
				if err := db.Write(context.Background(), &insert{id: i}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := count(t, a); got != 100 {
			t.Errorf("%d rows, want 100", got)
		}
	})

	t.Run("a newer program's file is refused", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.db")
		db := open(t, path)
		if err := db.Migrate(t.Context(), "thing", nil); err == nil {
			t.Error("tables of a newer version accepted")
		}
		if err := db.Write(t.Context(), sqlitedb.Do(func(conn *sqlite.Conn) error {
			return sqlitedb.Exec(conn, "PRAGMA user_version=99")
		})); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{}); err == nil {
			db.Close()
			t.Error("file of a newer layout accepted")
		}
	})
}

func TestDB_Close(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	answers := make(chan error, 50)
	for i := range int64(50) {
		go func() { answers <- db.WriteLazily(context.Background(), &insert{id: i}, time.Hour) }()
	}
	written := 0
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range cap(answers) {
		switch err := <-answers; {
		case err == nil:
			written++
		case !errors.Is(err, sqlitedb.ErrUnavailable):
			t.Errorf("%v, want ErrUnavailable", err)
		}
	}
	if err := db.Read(t.Context(), func(*sqlite.Conn) error { return nil }); !errors.Is(err, sqlitedb.ErrClosed) {
		t.Errorf("read after close: %v, want ErrClosed", err)
	}
	if got := count(t, open(t, path)); got != written {
		t.Errorf("%d rows after reopening, want %d acknowledged ones", got, written)
	}
}

// TestDB_Log writes more than the log may hold during constant reads.
func TestDB_Log(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	var readers sync.WaitGroup
	defer readers.Wait()
	written := make(chan struct{})
	defer close(written)
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-written:
					return
				default:
					count(t, db)
				}
			}
		})
	}
	big := sqlitedb.Do(func(conn *sqlite.Conn) error {
		return sqlitedb.Exec(conn, "INSERT INTO thing (id, note) VALUES (abs(random()), zeroblob(800000))")
	})
	for range 100 { // 80 MB in all
		if err := db.Write(t.Context(), big); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 48<<20 {
		t.Errorf("the log has %d MiB after its checkpoints, want at most 48", info.Size()>>20)
	}
}

func BenchmarkWrite(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		db := open(b, filepath.Join(b.TempDir(), "x.db"))
		for i := int64(0); b.Loop(); i++ {
			if err := db.Write(b.Context(), &insert{id: i}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestOpen_Busy checks that Open waits up to Options.Busy for another process that writes to a new file.
func TestOpen_Busy(t *testing.T) {
	t.Parallel()
	open(t, filepath.Join(t.TempDir(), "y.db")) // configures SQLite, which must come before any other use of it
	path := filepath.Join(t.TempDir(), "x.db")
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := sqlitedb.Exec(other, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	const busy = 100 * time.Millisecond
	begun := time.Now()
	if db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{Busy: busy}); err == nil {
		db.Close()
		t.Error("opened during another process's write")
	} else if took := time.Since(begun); took < busy {
		t.Errorf("gave up after %v, want at least %v: %v", took, busy, err)
	}
}

// TestDB_Write_Unknown checks that a failed COMMIT is ErrUnknown and calls the foreign hooks.
func TestDB_Write_Unknown(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	interrupted := make(chan struct{})
	close(interrupted)
	var told atomic.Bool
	defer db.AfterForeign(func() { told.Store(true) })()
	err := db.Write(t.Context(), sqlitedb.Do(func(conn *sqlite.Conn) error {
		defer conn.SetInterrupt(interrupted) // interrupts the COMMIT, which comes next
		return sqlitedb.Exec(conn, "INSERT INTO thing (id) VALUES (1)")
	}))
	if !errors.Is(err, sqlitedb.ErrUnknown) {
		t.Errorf("write: %v, want ErrUnknown", err)
	}
	if errors.Is(err, sqlitedb.ErrUnavailable) {
		t.Errorf("write: %v, want it not to be ErrUnavailable", err)
	}
	if !told.Load() {
		t.Error("foreign hook not called")
	}
}

// TestOpen_Fdatasync checks that Linux syncs a commit without the file's time.
func TestOpen_Fdatasync(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not every system has fdatasync")
	}
	open(t, filepath.Join(t.TempDir(), "x.db"))
	if !modernc.FdatasyncEnabled() {
		t.Error("commits sync with fsync, want fdatasync")
	}
}
