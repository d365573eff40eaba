//go:build unix

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// private refuses a data folder that other users can write to: they could replace the keys or the data, or lead both elsewhere by a
// link. It follows links of the operator's own, and checks where they lead.
func private(folder string) error {
	path, err := filepath.EvalSymlinks(folder)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return err
	}
	if err := onlyOwnerWrites(path, "chmod 700"); err != nil {
		return err
	}
	for _, name := range []string{storeFile, storeFile + "-wal", storeFile + "-shm", lockFile, TokenFile, VaultFile, cursorFile} {
		if err := onlyOwnerWrites(filepath.Join(path, name), "chmod 600"); err != nil {
			return err
		}
	}
	for parent := filepath.Dir(path); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s has mode %04o, so every user may replace the data folder %s in it: chmod o-w %[1]s, or set ORGOPS_DATA to another folder", parent, info.Mode().Perm(), path)
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

// onlyOwnerWrites refuses a file or folder that another user than this one and root can write to. A missing one is fine.
func onlyOwnerWrites(path, remedy string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%s has mode %04o, so other users may write to it: check what is in it, then %s %[1]s", path, mode, remedy)
	}
	// Root may work in the folder of the service's user.
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() != 0 && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to the user %d, who may write to it: run orgops as that user, or set ORGOPS_DATA to another folder", path, stat.Uid)
	}
	return nil
}
