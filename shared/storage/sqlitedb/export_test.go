package sqlitedb

import "time"

// Limits of a transaction's lazy units.
const (
	MaxLazy   = maxLazy
	FewLazy   = fewLazy
	BusyGroup = busyGroup
)

// Waiting returns the number of units that wait for a transaction.
func (db *DB) Waiting() int {
	db.writer.mu.Lock()
	defer db.writer.mu.Unlock()
	return len(db.writer.urgent) + len(db.writer.lazy)
}

// Press lets the writer take a time for that of the last unit of Write.
func (db *DB) Press(at time.Time) {
	db.writer.mu.Lock()
	defer db.writer.mu.Unlock()
	db.writer.pressed = at
}
