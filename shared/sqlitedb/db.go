// Package sqlitedb is one SQLite file, used the way that makes it fast and safe: a write-ahead log, a sync before every
// commit is answered, one writer that folds waiting work into one transaction, and a few connections that read snapshots.
//
// A process opens a file once. A second process may have the same file open at the same time; the two take turns at
// writing and wait for each other for a limited time.
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

	"orgops/shared/wait"
)

const (
	// layout is the file's user_version. A file with a greater one was written by a newer program and is refused.
	layout = 1
	// walPages is how many pages (32 MiB) the log takes before a commit moves it into the database. Hot pages are
	// written over and over in the log but moved once, so a long log costs less in all than a short one.
	walPages = 4096

	// What the caches may hold, in KiB. A page of 8 KiB takes about 13 KiB of memory, as SQLite's allocator rounds up.
	writerCache = 6 << 10
	readerCache = 1 << 10 // each
)

// Options adjusts a DB. The zero value is right for the service.
type Options struct {
	Readers int           // connections for reading, 4 when 0
	Busy    time.Duration // how long to wait while another process writes, 5 s when 0
}

// DB is an open file. Its methods are safe for concurrent use.
type DB struct {
	path    string
	writer  *writer
	readers *readers
}

// Open opens the file at path and creates it (0600), and its directory (0700), where they do not exist.
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
	bulkPageCache()
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
	db := &DB{path: path, writer: newWriter(conn), readers: pool}
	go db.writer.run()
	return db, nil
}

// Path is the file's path, as it was opened.
func (db *DB) Path() string { return db.path }

// Close commits what waits, moves the log into the database and closes the file. Whatever comes later is answered
// with ErrClosed.
func (db *DB) Close() error {
	werr := db.writer.close()
	if err := db.readers.close(); err != nil {
		return err
	}
	return werr
}

// private makes sure that nobody else reads the file. SQLite gives its -wal and -shm files the same mode.
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

// connect opens one connection. The path is no URI, so that every character of it stands for itself.
func connect(path string, busy time.Duration, cacheKiB int) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busy)
	script := fmt.Sprintf("PRAGMA page_size=8192; PRAGMA cache_size=-%d; PRAGMA temp_store=MEMORY; PRAGMA synchronous=FULL;", cacheKiB)
	if err := pragmas(conn, script); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// prepareFile sets what belongs to the file, not to a connection.
func prepareFile(ctx context.Context, conn *sqlite.Conn, busy time.Duration) error {
	version, err := number(conn, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if version > layout {
		return fmt.Errorf("the file's layout is %d, written by a newer program; this one knows %d", version, layout)
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

// keepLog has the file keep a write-ahead log. SQLite reads before it changes to one, and whoever has read is never let
// wait for another who writes, so the waiting is done here: two may open a new file at the same time.
func keepLog(ctx context.Context, conn *sqlite.Conn, busy time.Duration) error {
	for end := time.Now().Add(busy); ; {
		err := pragmas(conn, "PRAGMA journal_mode=WAL;")
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || time.Now().After(end) || !wait.For(ctx, busyPause) {
			return err
		}
	}
}

// busyPause is how long to leave alone a file that somebody else writes to.
const busyPause = 2 * time.Millisecond

// pragmas runs statements outside a transaction, where the ones about the file must be.
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
