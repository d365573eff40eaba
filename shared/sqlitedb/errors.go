package sqlitedb

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

var (
	// ErrUnavailable means that the file cannot be used now: another process holds it, the disk is full or fails. Nothing
	// of the work was written.
	ErrUnavailable = errors.New("database unavailable")
	// ErrUnknown means that work was done and the disk failed while it was committed: what was written is not known.
	ErrUnknown = errors.New("outcome of a commit is not known")
	// ErrClosed is the ErrUnavailable of a DB after Close.
	ErrClosed = fmt.Errorf("%w: closed", ErrUnavailable)
)

// classify marks the errors that a later try may not meet.
func classify(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultIOErr, sqlite.ResultNoMem, sqlite.ResultCantOpen, sqlite.ResultProtocol:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
