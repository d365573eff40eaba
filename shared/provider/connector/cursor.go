package connector

import (
	"encoding/json"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
)

// Limits of what an answer says about the next page, in bytes. A checkpoint keeps it, and the next request carries it.
const (
	maxCursor  = 2048
	maxAddress = 4096
)

// CheckCursor returns a fault for a cursor that the next request could not carry as the provider gave it. raw is its JSON. Half of a
// character would become U+FFFD, so the request would ask for another page.
func CheckCursor(raw json.RawMessage, cursor string) error {
	switch {
	case !text.IsUnicode(raw):
		return fault.New(fault.Unavailable, "the cursor of the next page "+text.NotUnicode)
	case len(cursor) > maxCursor:
		return fault.New(fault.Unavailable, "the cursor of the next page is longer than 2,048 bytes")
	}
	return nil
}
