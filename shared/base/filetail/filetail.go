// Package filetail reads the end of a file that another process may still write to, such as its log.
package filetail

import (
	"bytes"
	"io"
	"os"
)

// Of returns at most the given number of bytes from the end of an open file, without surrounding white space. Of also works
// on a file that was removed after it was opened. If the file's size cannot be read, Of returns the error text.
func Of(f *os.File, most int64) []byte {
	info, err := f.Stat()
	if err != nil {
		return []byte(err.Error())
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-most), most)) // as much as can be read
	return bytes.TrimSpace(text)
}
