package manifest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// overlap is how far a run reaches back by default: the provider's clock may differ, and the run before may have read an item just
// before it changed.
const overlap = 5 * time.Minute

// since returns the time from which a run lists changes, when the run before began at a time.
func (i Incremental) since(began time.Time) time.Time {
	if i.Overlap > 0 {
		return began.Add(-time.Duration(i.Overlap) * time.Second)
	}
	return began.Add(-overlap)
}

// text returns a time in the provider's form. A form that is coarser than the time rounds down, so that no change is lost.
func (i Incremental) text(at time.Time) string {
	switch i.Form {
	case "date":
		return at.UTC().Format(time.DateOnly)
	case "epoch-s":
		return strconv.FormatInt(at.Unix(), 10)
	case "epoch-ms":
		return strconv.FormatInt(at.UnixMilli(), 10)
	case "epoch-us": // seconds, and microseconds behind the point
		return fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
	}
	return at.UTC().Format(time.RFC3339)
}

// value returns a time as a body carries it: whole numbers as numbers.
func (i Incremental) value(at time.Time) any {
	if i.Form == "epoch-s" || i.Form == "epoch-ms" {
		return json.Number(i.text(at))
	}
	return i.text(at)
}
