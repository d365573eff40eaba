package process

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
)

// SetPages limits the pages of the data file, as a full disk does. It returns the pages that the file has or may have.
func (e *Embedded) SetPages(ctx context.Context, limit int64) (pages int64, err error) {
	err = e.db.Write(ctx, sqlitedb.Do(func(conn *sqlite.Conn) error {
		stmt, _, err := conn.PrepareTransient(fmt.Sprintf("PRAGMA max_page_count=%d", limit))
		if err != nil {
			return err
		}
		defer stmt.Finalize()
		if _, err := stmt.Step(); err != nil {
			return err
		}
		pages = stmt.ColumnInt64(0)
		return nil
	}))
	return pages, err
}
