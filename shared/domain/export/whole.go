package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// errComplete reports a file that has the whole export.
var errComplete = errors.New("the file has a complete export; give the name of a new file")

// errNone reports a file that is something else.
var errNone = errors.New("the file is no export; give the name of a new file, or of one with a part of an export")

// Whole returns the key after which an interrupted export continues, and the size of its whole pages. It returns an error for a complete
// export, and for a file that does not begin with a page of an export.
func Whole(from io.Reader) (after string, size int64, err error) {
	in := bufio.NewReaderSize(from, 64<<10)
	if begin, _ := in.Peek(len(itemStart)); len(begin) > 0 && string(begin) != itemStart && string(begin) != pageStart {
		return "", 0, errNone
	}
	read := int64(0)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a line without an end was cut
			break
		}
		if err != nil {
			return "", 0, err
		}
		read += int64(len(line))
		var t struct {
			Page *PageEnd `json:"page"`
		}
		if !bytes.HasPrefix(line, []byte(pageStart)) || json.Unmarshal(line, &t) != nil || t.Page == nil {
			continue
		}
		if t.Page.Next == "" {
			return "", 0, errComplete
		}
		after, size = t.Page.Next, read
	}
	return after, size, nil
}

// The starts of an item's line and of a page's end, of the same length.
const (
	itemStart = `{"entit`
	pageStart = `{"page"`
)
