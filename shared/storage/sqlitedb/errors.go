package sqlitedb

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

var (
	// ErrUnavailable reports that the file cannot be used now: another process holds it, the disk is full, or the disk
	// fails. None of the work was written.
	ErrUnavailable = errors.New("database unavailable")
	// ErrUnknown reports that the disk failed during a commit. All of the work was written, or nothing.
	ErrUnknown = errors.New("the commit may or may not have been applied; re-read before retrying")
	// ErrClosed reports use after Close. It wraps ErrUnavailable.
	ErrClosed = fmt.Errorf("%w: closed", ErrUnavailable)
)

// classify marks transient errors as ErrUnavailable.
func classify(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultIOErr, sqlite.ResultNoMem, sqlite.ResultCantOpen, sqlite.ResultProtocol:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
