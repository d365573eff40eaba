package sqlitestore

import (
	"context"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
)

// Scrub implements store.Scrubber. The company's changes stay in the log without key and images, because consumers count on the
// sequence. To a consumer such a change is of an entity that it does not know.
func (s *Store) Scrub(ctx context.Context, company string) error {
	var from int64
	for first := true; first || from != 0; first = false {
		var err error
		if from, err = s.sweep(ctx, from, sweepTurn); err != nil {
			return err
		}
	}
	if err := s.db.Write(ctx, blank(company)); err != nil {
		return contractError(err)
	}
	return contractError(s.db.Vacuum(ctx))
}

func blank(company string) sqlitedb.Do {
	return func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(`UPDATE change SET sk = '-', entity = 'erased', old_version = NULL, new_version = NULL, old_body = NULL, new_body = NULL WHERE company = ?`)
		if err != nil {
			return err
		}
		stmt.BindText(1, company)
		return sqlitedb.Step(stmt)
	}
}
