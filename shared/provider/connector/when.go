package connector

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/text"
)

// When is a time in a JSON document. Reading it never fails, so a time that cannot be read hurts no other member.
type When struct {
	At     *time.Time // nil: absent, or not a time
	Unread string     // the text that is not a time, or ""
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *When) UnmarshalJSON(value []byte) error {
	*w = WhenOf(value)
	return nil
}

// WhenOf reads a text or a number as Moment does. An empty text, null and an absent value are no times.
func WhenOf(value json.RawMessage) When {
	said := string(value)
	if strings.HasPrefix(said, `"`) && json.Unmarshal(value, &said) != nil || said == "null" {
		return When{}
	}
	return WhenIn(said)
}

// WhenIn reads a text as WhenOf does. The year 1 stands for no time.
func WhenIn(said string) When {
	at, ok := moment(said)
	switch {
	case strings.TrimSpace(said) == "", ok && at.Year() == 1:
		return When{}
	case !ok || at.Year() < 1 || at.Year() > 9999: // JSON cannot hold it
		return When{Unread: said}
	}
	return When{At: &at}
}

// WarnOfTime warns once of a member of an item that should be a time, and cannot be read as one. The item stays, without the time.
func (p *FetchedPage) WarnOfTime(member, item string, w When) {
	if w.Unread == "" || len(p.Warnings) > 0 {
		return
	}
	p.Warnings = append(p.Warnings, fmt.Sprintf("%s of %s is %s, which is no time that can be read, so it is left out; send RFC 3339, such as 2026-03-01T12:00:00Z",
		member, strconv.Quote(text.Truncate(item, maxQuoted)), strconv.Quote(text.Truncate(w.Unread, maxQuoted))))
}
