// Package export writes everything that a company has as JSON Lines, without secrets. It reads the company's partition page by
// page in the order of the keys, so an export of any size needs little memory and can continue where it stopped.
package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"orgops/shared/storage/store"
)

// Operation names the operation by which users export, Resource its resource in the audit log, and Complete that of its last page.
const (
	Operation = "export-company"
	Resource  = "operations/export"
	Complete  = Resource + "#complete"
)

// Line holds one item, as stored.
type Line struct {
	Entity  string          `json:"entity"`
	Key     string          `json:"key"`
	Version int64           `json:"version"`
	At      time.Time       `json:"at"`
	Expires *time.Time      `json:"expires,omitempty"`
	Body    json.RawMessage `json:"body"`
}

// Bounds of one page.
const (
	MaxBytes = 2 << 20 // beyond which no further item begins; one item has at most store.MaxBody more. See web.MaxListed
	maxReads = 10      // queries
)

// PageEnd describes the page that it ends: which items the lines before it are. An import so finds a page that is damaged, missing
// or out of place.
type PageEnd struct {
	After  string `json:"after"`  // the key behind which the page begins, "" for the first one
	Next   string `json:"next"`   // the After of the next page, "" for the last one
	Items  int    `json:"items"`  // lines before this one
	SHA256 string `json:"sha256"` // of the lines before this one, hexadecimal
}

// Trailer is the last line of a page.
type Trailer struct {
	Page PageEnd `json:"page"`
}

// Page writes the items behind the key after, "" for the first ones, each as a line, and a Trailer. next is the key to continue
// after, or "" if the export is complete. A page may have no items and still have a next one, because not all items are exported.
//
// An export is no snapshot: an item that changes meanwhile is exported as it is when its page is read.
func Page(ctx context.Context, c store.Company, after string) (lines []byte, next string, err error) {
	items, n, next, err := read(ctx, c, after)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(items)
	end, err := json.Marshal(Trailer{PageEnd{After: after, Next: next, Items: n, SHA256: hex.EncodeToString(sum[:])}})
	return append(append(items, end...), '\n'), next, err
}

// read returns the lines of the items of a page, and their number.
func read(ctx context.Context, c store.Company, after string) (lines []byte, n int, next string, err error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	kinds, q := exported(), store.Query{After: after}
	for range maxReads {
		page, err := c.Query(ctx, q)
		if err != nil {
			return nil, 0, "", err
		}
		for _, item := range page.Items {
			if !kinds[item.Entity] {
				continue
			}
			if out.Len() > MaxBytes {
				return out.Bytes(), n, q.After, nil
			}
			if err := encoder.Encode(lineOf(item)); err != nil {
				return nil, 0, "", err
			}
			n++
			q.After = item.Key
		}
		if q.After = page.Next; q.After == "" {
			return out.Bytes(), n, "", nil
		}
	}
	return out.Bytes(), n, q.After, nil
}

func lineOf(item store.Item) Line {
	l := Line{Entity: item.Entity, Key: item.Key, Version: item.Version, At: item.At, Body: item.Body}
	if !item.Expires.IsZero() {
		l.Expires = &item.Expires
	}
	return l
}
