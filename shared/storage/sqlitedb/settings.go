package sqlitedb

import (
	"sync"

	"modernc.org/libc"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// bulkKiB sets how much of its page cache a connection may allocate in one piece: all of it. SQLite takes no more than the cache's
// size. What exceeds it is allocated page by page, and a page then takes 13 KiB instead of 8.5.
const bulkKiB = 2 * writerCache

// configure applies the settings of SQLite that hold for the whole process. That of the page cache works only before the first
// connection is opened.
//
// Connections allocate their page caches in one piece. In WAL mode a reader drops its cached pages after every write. A reader
// that allocates page by page then calls munmap and mmap for 64 KiB per three pages, and half of that memory stays unused.
// These calls took a third of the time of a read. https://www.sqlite.org/malloc.html#_page_cache_memory
//
// Commits sync with fdatasync(2) where the system has it. It leaves out the time of the last change, which nothing needs, and is as
// durable.
var configure = sync.OnceFunc(func() { //nolint:gochecknoglobals // the settings are the process's
	tls := libc.NewTLS()
	defer tls.Close()
	args := libc.NewVaList(uintptr(0), int32(0), int32(-bulkKiB))
	defer libc.Xfree(tls, args)
	lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_PAGECACHE, args)
	_, _ = sqlite.Fdatasync(true) // the error says that this system has none
})
