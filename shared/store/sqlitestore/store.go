// Package sqlitestore is the item store in a SQLite file: store.Store and store.Feed over sqlitedb.
//
// A commit is one unit of the file's group commit. It writes its items and, in the same transaction, a row of the change
// log for each that is a company's and not quiet. The log is the feed: consumers get a change from memory the moment it
// is durable, and from the log when they are behind.
package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/sqlitedb"
	"orgops/shared/store"
)

// Options says how a store is opened. Zero values are the defaults.
type Options struct {
	Now func() time.Time // the clock of commit times and expiry; time.Now when nil

	// Consumers are the names that may Consume. The log keeps what any of them has not finished. A store opened without
	// any, as by a command that only writes, removes nothing from the log.
	Consumers []string
	// Unfinished is how many changes a consumer may have handed out and not finished; 8192 when 0.
	Unfinished int
	// Retention is how long a change stays in the log at least; 24 h when 0.
	Retention time.Duration
	// Upkeep is how often expired items and old changes are removed in the background; 30 s when 0, never when negative.
	Upkeep time.Duration
	// Notice is how long a commit of another process may go unseen by the feed and by Get; 500 ms when 0. A commit of
	// this one is never waited for.
	Notice time.Duration
}

// Store is an open store.
type Store struct {
	db        *sqlitedb.DB
	o         Options
	commits   sync.Pool
	feed      *feed
	cache     *cache
	stop      context.CancelFunc
	work      sync.WaitGroup // background
	unhook    func()
	unforeign func()
}

// Open makes a store of the file's tables and creates them where they are missing. Close it before the file.
func Open(ctx context.Context, db *sqlitedb.DB, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	orDefault(&o.Retention, 24*time.Hour)
	orDefault(&o.Upkeep, 30*time.Second)
	orDefault(&o.Notice, 500*time.Millisecond)
	if o.Unfinished <= 0 {
		o.Unfinished = 8192
	}
	if err := db.Migrate(ctx, "store", steps()); err != nil {
		return nil, fmt.Errorf("store tables: %w", outside(err))
	}
	s := &Store{db: db, o: o, cache: newCache()}
	latest, err := s.prepareFeed(ctx)
	if err != nil {
		return nil, fmt.Errorf("change log: %w", err)
	}
	s.feed = newFeed(latest)
	s.unhook = db.AfterCommit(s.feed.flush)
	s.unforeign = db.AfterForeign(s.cache.empty)
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.work.Go(func() { s.watch(background) })
	if o.Upkeep > 0 {
		s.work.Go(func() { s.maintain(background) })
	}
	return s, nil
}

func orDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// Close ends the work in the background. Consumers end by their own context, before it.
func (s *Store) Close() error {
	s.stop()
	s.work.Wait()
	s.unhook()
	s.unforeign()
	return nil
}

const getItem = `SELECT entity, version, at, expires, body FROM item WHERE pk = ? AND sk = ?`

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	if err := ctx.Err(); err != nil {
		return store.Item{}, err
	}
	item, ok, load := s.cache.get(cacheKey{p.String(), key})
	if !ok {
		var err error
		item, ok, err = s.read(ctx, p, key)
		s.cache.fill(load, item, ok && err == nil)
		if err != nil {
			return store.Item{}, outside(err)
		}
	}
	if !ok || !live(seconds(item.Expires), s.o.Now()) {
		return store.Item{}, store.ErrNotFound
	}
	return item, nil
}

// read reads an item from the file, expired or not.
func (s *Store) read(ctx context.Context, p store.Partition, key string) (item store.Item, found bool, err error) {
	err = s.db.ReadWarm(ctx, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(getItem)
		if err != nil {
			return err
		}
		stmt.BindText(1, p.String())
		stmt.BindText(2, key)
		if found, err = stmt.Step(); err != nil || !found {
			return err
		}
		item = scanItem(stmt, key, 0)
		return stmt.Reset()
	})
	return item, found, err
}

// scanItem reads entity, version, at, expires and body from the columns that start at first.
func scanItem(stmt *sqlite.Stmt, key string, first int) store.Item {
	return store.Item{
		Key: key, Entity: stmt.ColumnText(first), Version: stmt.ColumnInt64(first + 1),
		At: time.UnixMilli(stmt.ColumnInt64(first + 2)).UTC(), Expires: expiry(stmt.ColumnInt64(first + 3)),
		Body: blob(stmt, first+4),
	}
}

// blob copies a column out of SQLite's memory.
func blob(stmt *sqlite.Stmt, column int) []byte {
	b := make([]byte, stmt.ColumnLen(column))
	stmt.ColumnBytes(column, b)
	return b
}

// live reports whether an item with this expiry is there at now.
func live(expires int64, now time.Time) bool { return expires == 0 || now.Unix() < expires }

func expiry(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// seconds is the column of an expiry. What lies before 1970 has run out just as what lies in its first second.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Unix(), 1)
}

// outside makes an error of the file's one of the contract's.
func outside(err error) error {
	if errors.Is(err, sqlitedb.ErrUnavailable) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if errors.Is(err, sqlitedb.ErrUnknown) {
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return err
}
