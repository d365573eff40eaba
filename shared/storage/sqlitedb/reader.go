package sqlitedb

import (
	"context"

	"zombiezen.com/go/sqlite"
)

// readers lends read-only connections.
type readers struct {
	free   chan *sqlite.Conn
	closed chan struct{}
	size   int
}

func openReaders(path string, o Options) (*readers, error) {
	r := &readers{free: make(chan *sqlite.Conn, o.Readers), closed: make(chan struct{})}
	for range o.Readers {
		conn, err := connect(path, o.Busy, readerCache)
		if err == nil {
			err = pragmas(conn, "PRAGMA query_only=1;")
		}
		if err != nil {
			_ = r.close()
			return nil, err
		}
		r.free <- conn
		r.size++
	}
	return r, nil
}

// Read calls fn with a connection that sees every commit that has returned. Each statement of fn sees its own snapshot. fn
// must reset every statement that it did not step to the end, or later readers would see an old snapshot. fn must be short:
// it must not wait or call the network. Read returns transient errors of SQLite as ErrUnavailable.
func (db *DB) Read(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := db.readers.take(ctx)
	if err != nil {
		return err
	}
	defer func() { db.readers.free <- conn }()
	if err := fn(conn); err != nil {
		return classify(err)
	}
	return nil
}

func (r *readers) take(ctx context.Context) (*sqlite.Conn, error) {
	select {
	case <-r.closed:
		return nil, ErrClosed
	default:
	}
	select {
	case conn := <-r.free:
		return conn, nil
	default:
	}
	select {
	case conn := <-r.free:
		return conn, nil
	case <-r.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close waits for the readers in use.
func (r *readers) close() error {
	select {
	case <-r.closed:
		return nil
	default:
	}
	close(r.closed)
	var first error
	for range r.size {
		if err := (<-r.free).Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
