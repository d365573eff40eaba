package sqlitedb

import (
	"context"
	"fmt"
	"os"
)

// growStep sets how many zeros GrowLog writes between two syncs. A commit waits for the sync that is under way.
const growStep = 1 << 20

// GrowLog writes zeros after the end of the log's file until it has its full length (34 MiB). A sync of a file that has grown also
// writes the file's new size and place to the file system's journal, so it takes two to three times as long. PostgreSQL fills a new
// segment of its log with zeros for the same reason (wal_init_zero).
//
// SQLite ends its reading of the log at the first frame whose checksum is wrong, so the zeros mean nothing to it. The file is open
// for appending: the system puts each write after the end that the file has at that moment. GrowLog therefore overwrites no frame,
// and needs no lock. It returns nil if ctx ends. Without it, or after an error, commits make the log grow.
func (db *DB) GrowLog(ctx context.Context) error {
	f, err := os.OpenFile(db.log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer f.Close()
	for zeros := make([]byte, growStep); ctx.Err() == nil; {
		info, err := f.Stat()
		if err != nil || info.Size() >= walPages*pageBytes+2*growStep {
			return err
		}
		if _, err := f.Write(zeros); err != nil {
			return fmt.Errorf("grow the log: %w", err)
		}
		if err := f.Sync(); err != nil {
			return fmt.Errorf("sync the log: %w", err)
		}
	}
	return nil
}
