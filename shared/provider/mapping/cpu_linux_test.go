package mapping_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
)

// cpuTime returns the processor time that f takes. Other programs on the machine do not add to it.
func cpuTime(t testing.TB, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const thisThread = 1 // RUSAGE_THREAD
	used := func() time.Duration {
		var u syscall.Rusage
		errtest.Must(t, syscall.Getrusage(thisThread, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}
