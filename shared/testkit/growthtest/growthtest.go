// Package growthtest checks that the work of a parser grows no faster than its input. It counts what is allocated, because time depends
// on the machine.
package growthtest

import (
	"runtime"
	"testing"
)

// Doubling runs work with inputs of n and of 2n parts. It fails if the double input allocates more than two and a half times as much:
// twice for the input, and the rest for what grows in steps, such as a buffer. The test must not run in parallel with others, because
// the count is the process's.
func Doubling(t testing.TB, name string, n int, work func(n int)) {
	t.Helper()
	work(n) // what is made once, such as a table
	_, once := allocated(func() { work(n) })
	twice, _ := allocated(func() { work(2 * n) })
	if most := once*5/2 + slack; twice > most {
		t.Errorf("%s: %d bytes for %d parts, and %d for twice as many; want at most %d", name, once, n, twice, most)
	}
}

// slack allows for what other goroutines of the process allocate meanwhile, in bytes.
const slack = 16 << 10

// allocated returns the bytes that a call allocates, the least and the most of several runs. They differ if a run takes a buffer
// from a pool, which the race detector empties at random.
func allocated(call func()) (least, most uint64) {
	least = ^uint64(0)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call()
		runtime.ReadMemStats(&after)
		least, most = min(least, after.TotalAlloc-before.TotalAlloc), max(most, after.TotalAlloc-before.TotalAlloc)
	}
	return least, most
}
