// Package sqlitedb opens a SQLite file for fast and durable use. The file has a write-ahead log, and a commit returns only
// after a sync. One writer groups the waiting units into one transaction. A few other connections read snapshots.
//
// A process opens a file once. A second process may open the same file. The two processes write in turns, and each waits for
// the other for at most Options.Busy.
package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"orgops/shared/base/wait"
)

const (
	// layout is the file's user_version. Open refuses a file with a greater one, which a newer program wrote.
	layout = 1
	// pageBytes sets the page size of a new file.
	pageBytes = 8 << 10
	// walPages sets the length of the log, in pages (32 MiB), at which a commit moves the log into the database. A page that
	// changes often is written to the log many times but moved once. A long log therefore costs less in all than a short
	// one.
	walPages = 4096

	// Cache sizes in KiB.
	writerCache = 6 << 10
	readerCache = 1 << 10 // each
)

// Options adjusts a DB. The zero value suits the service.
type Options struct {
	Readers int           // read connections; default 4
	Busy    time.Duration // longest wait while another process writes; default 5 s
}

// DB reads and writes an open file. Its methods are safe for concurrent use.
type DB struct {
	writer     *writer
	readers    *readers
	background background
	log        string // path of the log
}

// Open opens the file at path. It creates a missing file (0600) and directory (0700).
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.Busy <= 0 {
		o.Busy = 5 * time.Second
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		return nil, err
	}
	target, err := filepath.EvalSymlinks(path) // SQLite puts the log next to the file itself
	if err != nil {
		return nil, fmt.Errorf("data file: %w", err)
	}
	configure()
	conn, err := connect(path, o.Busy, writerCache)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := prepareFile(ctx, conn, o.Busy); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(err, conn.Close()))
	}
	pool, err := openReaders(path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(err, conn.Close()))
	}
	db := &DB{writer: newWriter(conn), readers: pool, background: newBackground(), log: target + "-wal"}
	go db.writer.run()
	return db, nil
}

// Close commits the waiting units, moves the log into the database and closes the file. Later calls return ErrClosed.
func (db *DB) Close() error {
	werr := db.writer.close()
	if err := db.readers.close(); err != nil {
		return err
	}
	return werr
}

// private restricts the file to its owner. SQLite gives its -wal and -shm files the same mode.
func private(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("data file: %w", err)
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("data file: %w", err)
	}
	return nil
}

// connect opens one connection. It passes the path and not a URI, so no character of the path has a special meaning.
func connect(path string, busy time.Duration, cacheKiB int) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busy)
	script := fmt.Sprintf("PRAGMA page_size=%d; PRAGMA cache_size=-%d; PRAGMA temp_store=MEMORY; PRAGMA synchronous=FULL;", pageBytes, cacheKiB)
	if err := pragmas(conn, script); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// prepareFile applies the settings that belong to the file, not to a connection.
func prepareFile(ctx context.Context, conn *sqlite.Conn, busy time.Duration) error {
	version, err := number(conn, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if version > layout {
		return fmt.Errorf("the file's layout is %d, written by a newer program; this program supports %d: update this program", version, layout)
	}
	if err := keepLog(ctx, conn, busy); err != nil {
		return err
	}
	script := fmt.Sprintf("PRAGMA wal_autocheckpoint=%d;", walPages)
	if version < layout {
		script += fmt.Sprintf("PRAGMA user_version=%d;", layout)
	}
	return pragmas(conn, script)
}

// keepLog switches the file to a write-ahead log. SQLite reads before it switches, and its busy timeout does not apply to a
// connection that has read. keepLog therefore waits itself, in case two processes open a new file at the same time.
func keepLog(ctx context.Context, conn *sqlite.Conn, busy time.Duration) error {
	for end := time.Now().Add(busy); ; {
		err := pragmas(conn, "PRAGMA journal_mode=WAL;")
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || time.Now().After(end) || !wait.For(ctx, busyPause) {
			return err
		}
	}
}

// busyPause separates tries on a file that another process is writing to.
const busyPause = 2 * time.Millisecond

// pragmas runs statements outside a transaction. SQLite requires this for statements about the file.
func pragmas(conn *sqlite.Conn, script string) error {
	for script != "" {
		stmt, rest, err := conn.PrepareTransient(script)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			more, err = stmt.Step()
		}
		if ferr := stmt.Finalize(); err == nil {
			err = ferr
		}
		if err != nil {
			return err
		}
		script = script[len(script)-rest:]
	}
	return nil
}

func number(conn *sqlite.Conn, query string) (int64, error) {
	var n int64
	err := sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		n = stmt.ColumnInt64(0)
		return nil
	}})
	return n, err
}
