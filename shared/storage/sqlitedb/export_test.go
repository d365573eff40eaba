package sqlitedb

// Limits of a transaction's lazy units.
const (
	MaxLazy   = maxLazy
	BusyGroup = busyGroup
)

// Waiting returns the number of units that wait for a transaction.
func (db *DB) Waiting() int {
	db.writer.mu.Lock()
	defer db.writer.mu.Unlock()
	return len(db.writer.urgent) + len(db.writer.lazy)
}
