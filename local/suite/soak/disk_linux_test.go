package soak_test

import (
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

// fillDisk makes every write to a file fail, as a full disk does once the space that the files have is used up. end gives space back.
func (p *program) fillDisk() (end func()) {
	pid := p.process.Load().Pid
	var was unix.Rlimit
	errtest.Must(p.t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &was))
	errtest.Must(p.t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Max: was.Max}, nil))
	return func() { _ = unix.Prlimit(pid, unix.RLIMIT_FSIZE, &was, nil) } // it may have ended, and its limit with it
}
