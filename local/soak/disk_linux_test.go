package soak_test

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"orgops/shared/testkit/errtest"
)

// onDisk lists the faults of the disk below SQLite.
func onDisk() []fault {
	return []fault{{"disk", "full", true, func(w *world, _ *workload) {
		end := w.program.fillDisk()
		<-time.After(*forFlag)
		end()
	}}}
}

// fillDisk makes every write fail that would make a file larger than the largest file is now, as a full disk does. end gives
// the space back.
func (p *program) fillDisk() (end func()) {
	var largest uint64
	errtest.Must(p.t, filepath.Walk(p.folder, func(_ string, f os.FileInfo, err error) error {
		if err == nil && !f.IsDir() {
			largest = max(largest, uint64(f.Size()))
		}
		return nil
	}))
	pid := p.process.Load().Pid
	var was unix.Rlimit
	errtest.Must(p.t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &was))
	errtest.Must(p.t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: largest, Max: was.Max}, nil))
	return func() { _ = unix.Prlimit(pid, unix.RLIMIT_FSIZE, &was, nil) } // it may have ended, and its limit with it
}
