// Package sqlitestore implements the item store, store.Store and store.Feed, in a SQLite file.
//
// A commit is one sqlitedb.Unit. In one transaction it writes its items. In the same transaction it adds a row to the change
// log for each non-quiet write to a company's partition. A consumer gets a change from memory as soon as the change is
// durable. A consumer that is behind reads the log.
package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/expiry"
)

// Options configures a store. Zero values select the defaults.
type Options struct {
	Now func() time.Time // clock of commit times and expiry; default time.Now

	// Consumers lists the names that may Consume. The log keeps a change until every one of them has finished it. A store
	// without consumers trims nothing from the log: a command that only writes opens such a store. The last one is the first to
	// run after a commit.
	Consumers []string
	// Unfinished limits a consumer's changes in flight; default 8192.
	Unfinished int
	// Retention is the least time that a change stays in the log; default 24 h.
	Retention time.Duration
	// Upkeep is the interval at which expired items and old changes are removed in the background; default 30 s, negative
	// disables it.
	Upkeep time.Duration
	// Notice limits how long the feed and Get may miss a commit of another process; default 500 ms. Commits of this process
	// are seen at once.
	Notice time.Duration
}

// Store reads and writes the items of a file.
type Store struct {
	db            *sqlitedb.DB
	o             Options
	commits       sync.Pool
	feed          *feed
	cache         *cache
	stop          context.CancelFunc
	work          sync.WaitGroup // background
	unhook        func()
	unhookForeign func()
}

// Open returns a store over the file's tables, and creates missing tables. Close the store before db.
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
		return nil, fmt.Errorf("store tables: %w", contractError(err))
	}
	s := &Store{db: db, o: o, cache: newCache()}
	latest, err := s.prepareFeed(ctx)
	if err != nil {
		return nil, fmt.Errorf("change log: %w", err)
	}
	s.feed = newFeed(o.Consumers, latest)
	s.unhook = db.AfterCommit(s.feed.flush)
	s.unhookForeign = db.AfterForeign(s.cache.empty)
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

// Close ends the background work. First end the consumers by their contexts.
func (s *Store) Close() error {
	s.stop()
	s.work.Wait()
	s.unhook()
	s.unhookForeign()
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
			return store.Item{}, contractError(err)
		}
	}
	if !ok || !expiry.Live(item.Expires, s.o.Now()) {
		return store.Item{}, store.ErrNotFound
	}
	return item, nil
}

// few limits the rows that are read on the writer's connection: the commits of requests wait meanwhile.
const few = 8

// GetMany implements store.Store.
func (s *Store) GetMany(ctx context.Context, p store.Partition, keys []string) ([]store.Item, error) {
	if err := store.CheckKeys(keys); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var items []store.Item
	var missing []string
	for _, key := range keys {
		if item, ok := s.cache.peek(cacheKey{p.String(), key}); ok {
			items = append(items, item)
		} else {
			missing = append(missing, key)
		}
	}
	read := s.db.Read
	if len(missing) <= few {
		read = s.db.ReadWarm
	}
	err := read(ctx, func(conn *sqlite.Conn) error {
		for _, key := range missing {
			item, found, err := readItem(conn, p, key)
			if err != nil {
				return err
			}
			if found {
				items = append(items, item)
			}
		}
		return nil
	})
	if err != nil {
		return nil, contractError(err)
	}
	now := s.o.Now()
	return slices.DeleteFunc(items, func(item store.Item) bool { return !expiry.Live(item.Expires, now) }), nil
}

// read returns an item from the file, expired or not.
func (s *Store) read(ctx context.Context, p store.Partition, key string) (item store.Item, found bool, err error) {
	err = s.db.ReadWarm(ctx, func(conn *sqlite.Conn) error {
		item, found, err = readItem(conn, p, key)
		return err
	})
	return item, found, err
}

func readItem(conn *sqlite.Conn, p store.Partition, key string) (item store.Item, found bool, err error) {
	stmt, err := conn.Prepare(getItem)
	if err != nil {
		return item, false, err
	}
	stmt.BindText(1, p.String())
	stmt.BindText(2, key)
	if found, err = stmt.Step(); err != nil || !found {
		return item, false, err
	}
	return scanItem(stmt, key, 0), true, stmt.Reset()
}

// scanItem reads an item from five neighbouring columns: entity, version, at, expires and body. first is the column of
// entity.
func scanItem(stmt *sqlite.Stmt, key string, first int) store.Item {
	return store.Item{
		Key: key, Entity: stmt.ColumnText(first), Version: stmt.ColumnInt64(first + 1),
		At: time.UnixMilli(stmt.ColumnInt64(first + 2)).UTC(), Expires: expiry.Time(stmt.ColumnInt64(first + 3)),
		Body: blob(stmt, first+4),
	}
}

// blob copies a column from SQLite's memory.
func blob(stmt *sqlite.Stmt, column int) []byte {
	b := make([]byte, stmt.ColumnLen(column))
	stmt.ColumnBytes(column, b)
	return b
}

// contractError wraps an error of the file as an error of the store contract.
func contractError(err error) error {
	if errors.Is(err, sqlitedb.ErrUnavailable) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if errors.Is(err, sqlitedb.ErrUnknown) {
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return err
}
