//go:build !unix

package process

import "os"

// lock opens the file without locking it: this system has no lock that ends with the process.
func lock(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) }
