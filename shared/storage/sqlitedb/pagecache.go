package sqlitedb

import (
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// bulkKiB sets how much of its page cache a connection allocates in one piece.
const bulkKiB = 2 << 10

var bulkOnce sync.Once //nolint:gochecknoglobals // guards a process-wide setting

// bulkPageCache makes connections allocate their page caches in one piece. In WAL mode a reader drops its cached pages after
// every write. A reader that allocates page by page then calls munmap and mmap for 64 KiB per three pages, and half of that
// memory stays unused. These calls took a third of the time of a read. The setting works only before the first connection
// is opened.
// https://www.sqlite.org/malloc.html#_page_cache_memory
func bulkPageCache() {
	bulkOnce.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		args := libc.NewVaList(uintptr(0), int32(0), int32(-bulkKiB))
		defer libc.Xfree(tls, args)
		lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_PAGECACHE, args)
	})
}
