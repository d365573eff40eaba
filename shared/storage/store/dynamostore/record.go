package dynamostore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/expiry"
)

// Record holds a record of the table's stream. Consume and the Lambda functions both convert the records that they read to
// this type.
type Record struct {
	Sequence string
	Created  time.Time // when the write happened, to the second
	// Old and New hold the attributes of the item before and after the write: strings and numbers as they are, binaries as
	// their bytes, true as "true". Old is nil if the item did not exist before the write, New is nil if it does not exist
	// after it.
	Old, New map[string]string
}

// Change converts the record to a change. ok is false for records outside the feed: shared partitions, quiet writes, and the
// removal of a tombstone. A removal without a commit, by TTL or by hand, is a change too. Its time is the time of the
// removal. Next to an error, Change returns what identifies the change, without its images; the company is "" for a record in
// no partition of this program.
func (r Record) Change() (c store.Change, ok bool, err error) {
	shown := r.New
	if shown == nil {
		shown = r.Old
	}
	partition, known := store.Restore(shown[attrPartition])
	if !known {
		return store.Change{}, false, fmt.Errorf("store: stream record %s is in no partition of this program", r.Sequence)
	}
	company, owned := partition.CompanyID()
	if !owned {
		return store.Change{}, false, nil
	}
	c = store.Change{
		Sequence: store.Sequence(strings.TrimLeft(r.Sequence, "0")), Company: company, Key: shown[attrKey], Entity: shown[attrEntity],
		At: r.Created.UTC(), Stored: r.Created.UTC().Truncate(time.Second),
	}
	if r.New != nil {
		ms, err := strconv.ParseInt(r.New[attrAt], 10, 64)
		if err != nil {
			return c, false, fmt.Errorf("store: time of %s in stream record %s: %w", c.Key, r.Sequence, err)
		}
		c.At = time.UnixMilli(ms).UTC()
	}
	if c.Old, err = image(r.Old); err != nil {
		return c, false, fmt.Errorf("store: stream record %s: %w", r.Sequence, err)
	}
	if c.New, err = image(r.New); err != nil {
		return c, false, fmt.Errorf("store: stream record %s: %w", r.Sequence, err)
	}
	return c, r.feeds(&c), nil
}

// feeds reports whether a change belongs in the feed. A quiet write over an expired, non-quiet item becomes the removal of
// the expired item.
func (r Record) feeds(c *store.Change) bool {
	switch {
	case r.New == nil:
		return c.Old != nil && r.Old[attrQuiet] == ""
	case r.New[attrQuiet] == "":
		return c.Old != nil || c.New != nil
	case c.Old == nil || r.Old[attrQuiet] != "" || c.New == nil || !expired(r.Old, c.At):
		return false
	}
	c.Entity, c.New = r.Old[attrEntity], nil
	return true
}

func expired(item map[string]string, at time.Time) bool {
	seconds, err := strconv.ParseInt(item[attrExpires], 10, 64)
	return err == nil && !expiry.Live(expiry.Time(seconds), at)
}

// image returns the part of an item that a change shows; nil for a tombstone.
func image(item map[string]string) (*store.Image, error) {
	if item == nil || item[attrGone] != "" {
		return nil, nil //nolint:nilnil // a change without such an item has no image
	}
	version, err := strconv.ParseInt(item[attrVersion], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("version of %s: %w", item[attrKey], err)
	}
	body := json.RawMessage(item[attrBody])
	if packed, ok := item[attrPacked]; ok {
		if body, err = unpack([]byte(packed)); err != nil {
			return nil, fmt.Errorf("%s: %w", item[attrKey], err)
		}
	}
	return &store.Image{Version: version, Body: body}, nil
}
