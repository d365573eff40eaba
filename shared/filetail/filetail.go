// Package filetail reads the end of a file that somebody may still write to, such as a process its log.
package filetail

import (
	"bytes"
	"io"
	"os"
)

// Of is the last bytes of an open file, which need have no name any more: at most so many, without white space around. Where
// the file cannot be asked, it is why.
func Of(f *os.File, most int64) []byte {
	info, err := f.Stat()
	if err != nil {
		return []byte(err.Error())
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-most), most)) // what could be read
	return bytes.TrimSpace(text)
}
