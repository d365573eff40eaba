package keyfile

import (
	"io/fs"
	"os"
	"sync"
)

// Watched notices that another process replaced a key file. It is safe for concurrent use.
type Watched struct {
	path string

	mu   sync.Mutex
	seen fs.FileInfo
}

// Watch makes a Watched for the file at path.
func Watch(path string) *Watched { return &Watched{path: path} }

// Replaced calls read if the file is another one than at the last call, and at the first call. It calls nothing while there
// is no file.
func (w *Watched) Replaced(read func()) {
	info, err := os.Stat(w.path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || w.seen != nil && os.SameFile(w.seen, info) && w.seen.ModTime().Equal(info.ModTime()) {
		return
	}
	w.seen = info
	read()
}
