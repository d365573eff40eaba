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
// every write. Allocated page by page, each time would cost an munmap and an mmap of 64 KiB for three pages, half of it
// unused, which was a third of the cost of a read. The setting works only before the first connection is opened.
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
