package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/projector"
	"orgops/shared/base/keyfile"
	"orgops/shared/domain/integration"
	"orgops/shared/identity/token"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqlitequeue"
	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/storage/vault"
)

// Embedded keeps the service's data in a folder: one SQLite file, and the key files.
type Embedded struct {
	Store     store.Store
	Retries   queue.Queue
	Syncs     queue.Queue
	Notices   queue.Queue
	Vault     integration.Vault
	DataKeys  vault.StoreKeys
	CursorKey []byte

	db      *sqlitedb.DB
	store   *sqlitestore.Store
	retries *sqlitequeue.Queue
	syncs   *sqlitequeue.Queue
	notices *sqlitequeue.Queue
	lock    *os.File
}

// Names within the data folder.
const (
	storeFile  = "orgops.db"
	TokenFile  = "token-keys.json"
	VaultFile  = "vault.key"
	cursorFile = "cursor.key"
	lockFile   = "serving.lock"
)

// ErrServed reports that another process consumes the feed of a folder and works its queues.
var ErrServed = errors.New("another process serves this folder")

// Feed returns the change feed. Only a backend that was opened for serving can consume it.
func (e *Embedded) Feed() store.Feed { return e.store }

// growLog returns background work that lets commits take less time. They succeed without it too.
func (e *Embedded) growLog(logger *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := e.db.GrowLog(ctx); err != nil {
			logger.Warn("the database's log could not be grown in advance, so commits take longer at first", "error", err)
		}
		return nil
	}
}

// OpenEmbedded opens the backend in a folder and creates what is missing. Only the process that consumes the feed and works
// the queues sets serving. Other processes only read and write items.
func OpenEmbedded(ctx context.Context, folder string, serving bool, now func() time.Time) (e *Embedded, err error) {
	e = &Embedded{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return e, err
	}
	if err := private(folder); err != nil {
		return e, err
	}
	if serving {
		if e.lock, err = lock(filepath.Join(folder, lockFile)); err != nil {
			return e, err
		}
	}
	if e.db, err = sqlitedb.Open(ctx, filepath.Join(folder, storeFile), sqlitedb.Options{}); err != nil {
		return e, err
	}
	options := sqlitestore.Options{Now: now}
	if serving {
		options.Consumers = []string{projector.Consumer, dispatcher.Consumer}
	}
	if e.store, err = sqlitestore.Open(ctx, e.db, options); err != nil {
		return e, err
	}
	if err := e.openQueues(ctx, serving, now); err != nil {
		return e, err
	}
	return e, e.openKeys(folder, now)
}

// openQueues opens the queues. If serving, it releases at once the messages that a killed process had leased.
func (e *Embedded) openQueues(ctx context.Context, serving bool, now func() time.Time) (err error) {
	if e.retries, err = sqlitequeue.Open(ctx, e.db, "retries", sqlitequeue.Options{Now: now}); err != nil {
		return err
	}
	if e.syncs, err = sqlitequeue.Open(ctx, e.db, "syncs", sqlitequeue.Options{Now: now}); err != nil {
		return err
	}
	if e.notices, err = sqlitequeue.Open(ctx, e.db, "notices", sqlitequeue.Options{Now: now}); err != nil {
		return err
	}
	for _, q := range []*sqlitequeue.Queue{e.retries, e.syncs, e.notices} {
		if !serving {
			break
		}
		if _, err := q.Reclaim(ctx); err != nil {
			return err
		}
	}
	e.Store, e.Retries, e.Syncs, e.Notices = e.store, e.retries, e.syncs, e.notices
	return nil
}

func (e *Embedded) openKeys(folder string, now func() time.Time) (err error) {
	if _, err = token.LoadOrCreateKeys(filepath.Join(folder, TokenFile)); err != nil {
		return err
	}
	wrapper, err := vault.OpenFileKey(filepath.Join(folder, VaultFile))
	if err != nil {
		return err
	}
	e.DataKeys = vault.StoreKeys{Store: e.store}
	e.Vault = vault.New(wrapper, e.DataKeys, now)
	e.CursorKey, err = loadOrCreateSecret(filepath.Join(folder, cursorFile))
	return err
}

// loadOrCreateSecret reads a file of 32 random bytes, or creates one.
func loadOrCreateSecret(path string) ([]byte, error) {
	secret, err := keyfile.LoadOrCreate(path, func() ([]byte, error) {
		made := make([]byte, 32)
		_, err := rand.Read(made)
		return made, err
	})
	if err == nil && len(secret) != 32 {
		err = fmt.Errorf("%s does not hold 32 bytes; remove it and a new one is created", path)
	}
	return secret, err
}

// Close commits pending writes and closes everything that was opened.
func (e *Embedded) Close() error {
	var errs []error
	if e.store != nil {
		errs = append(errs, e.store.Close())
	}
	if e.db != nil {
		errs = append(errs, e.db.Close())
	}
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
	return errors.Join(errs...)
}
