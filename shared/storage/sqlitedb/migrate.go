package sqlitedb

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Migrate brings the tables of one component up to date. Step n of steps, counted from 1, leads from version n-1 to n. A
// released step must never change. The missing steps run in one transaction: if two processes start at once, one runs the
// steps and the other finds them done.
func (db *DB) Migrate(ctx context.Context, component string, steps []string) error {
	return db.Write(ctx, Do(func(conn *sqlite.Conn) error {
		const table = `CREATE TABLE IF NOT EXISTS migration (component TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID`
		if err := sqlitex.ExecuteTransient(conn, table, nil); err != nil {
			return err
		}
		done, err := migrated(conn, component)
		if err != nil {
			return err
		}
		if done > len(steps) {
			return fmt.Errorf("the tables of %s are at version %d, written by a newer program; this program supports %d: update this program", component, done, len(steps))
		}
		for i, step := range steps[done:] {
			if err := sqlitex.ExecScript(conn, step); err != nil {
				return fmt.Errorf("%s to version %d: %w", component, done+i+1, err)
			}
		}
		const record = `INSERT INTO migration (component, version) VALUES (?, ?) ON CONFLICT (component) DO UPDATE SET version = excluded.version`
		return sqlitex.ExecuteTransient(conn, record, &sqlitex.ExecOptions{Args: []any{component, len(steps)}})
	}))
}

func migrated(conn *sqlite.Conn, component string) (int, error) {
	var version int
	err := sqlitex.ExecuteTransient(conn, "SELECT version FROM migration WHERE component = ?", &sqlitex.ExecOptions{
		Args:       []any{component},
		ResultFunc: func(stmt *sqlite.Stmt) error { version = stmt.ColumnInt(0); return nil },
	})
	return version, err
}
