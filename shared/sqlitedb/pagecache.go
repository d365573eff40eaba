package sqlitedb

import (
	"sync"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// bulkKiB is how much of its page cache a connection allocates at once.
const bulkKiB = 2 << 10

var bulkOnce sync.Once //nolint:gochecknoglobals // what it guards is a setting of the process

// bulkPageCache has connections allocate their page caches in one piece. In WAL mode a reader drops its cached pages
// whenever somebody has written; page by page, each time would be an munmap and an mmap of 64 KiB for three pages, half
// of them unused, which was a third of what a read cost. It must be called before the first connection is opened and
// has no effect after. https://www.sqlite.org/malloc.html#_page_cache_memory
func bulkPageCache() {
	bulkOnce.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		args := libc.NewVaList(uintptr(0), int32(0), int32(-bulkKiB))
		defer libc.Xfree(tls, args)
		lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_PAGECACHE, args)
	})
}
