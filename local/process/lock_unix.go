//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock locks the folder for this process. The system releases the lock however the process ends.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%w (%s); stop it, or set ORGOPS_DATA to another folder", ErrServed, path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
