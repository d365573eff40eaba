// Package growthtest checks that the work of a parser grows no faster than its input. It counts what is allocated, because time depends
// on the machine.
package growthtest

import (
	"runtime"
	"testing"
)

// Linear runs work with inputs of n and of 4n parts. It fails if the long input allocates more than eight times as much: linear work
// allocates four times as much, and quadratic work sixteen times. The room between the two is for what grows in steps, such as a
// buffer. The test must not run in parallel with others, because the count is the process's.
func Linear(t testing.TB, name string, n int, work func(n int)) {
	t.Helper()
	work(n) // what is made once, such as a table
	short, long := allocated(func() { work(n) }), allocated(func() { work(4 * n) })
	if most := 8*short + slack; long > most {
		t.Errorf("%s: %d bytes for %d parts, and %d for four times as many; want at most %d", name, short, n, long, most)
	}
}

// slack allows for what other goroutines of the process allocate meanwhile, in bytes.
const slack = 16 << 10

// allocated returns the least bytes that a call allocates in several runs. Two collections empty every sync.Pool before a run, so that a
// short input does not find a buffer that a long one must make.
func allocated(call func()) uint64 {
	least := ^uint64(0)
	for range 3 {
		runtime.GC()
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		call()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
