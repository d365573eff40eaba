package sqlitedb

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"
)

// Vacuum writes the file again, so that nothing of removed rows and former versions remains in free space, and empties the log. It
// takes as long as copying the file does, and needs as much space. Commits wait meanwhile. It returns ErrUnavailable if readers
// have kept the log from being emptied; repeat it then.
func (db *DB) Vacuum(ctx context.Context) error {
	return db.writer.between(ctx, func(conn *sqlite.Conn) error {
		// The copy of a large file would not fit into memory, where the connection's temporary files are otherwise.
		err := pragmas(conn, "PRAGMA temp_store=FILE; VACUUM;")
		if err := errors.Join(err, pragmas(conn, "PRAGMA temp_store=MEMORY;")); err != nil {
			return err
		}
		busy, err := number(conn, "PRAGMA wal_checkpoint(TRUNCATE)")
		if err == nil && busy != 0 {
			return ErrUnavailable
		}
		return err
	})
}
