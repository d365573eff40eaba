package dynamostore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"orgops/shared/store"
)

// Record is one record of the table's stream, as any reader of it gets it: this package's Consume, or a Lambda.
type Record struct {
	Sequence string
	Created  time.Time // when the write happened, to the second
	// Old and New are the images of the item: strings and numbers as they are, a binary's bytes, true values as "true". Nil
	// where the item was not there before, or is not after.
	Old, New map[string]string
}

// Change is what the record says happened; ok is false for what is no part of the feed: shared partitions, quiet writes,
// and the removal of a tombstone. A removal that nobody committed, by TTL or by hand, is a change of the time it happened.
func (r Record) Change() (c store.Change, ok bool, err error) {
	shown := r.New
	if shown == nil {
		shown = r.Old
	}
	partition, known := store.Restore(shown[attrPartition])
	if !known {
		return store.Change{}, false, fmt.Errorf("store: the stream's record %s is of no partition of this program", r.Sequence)
	}
	company, owned := partition.CompanyID()
	if !owned {
		return store.Change{}, false, nil
	}
	c = store.Change{
		Sequence: store.Sequence(strings.TrimLeft(r.Sequence, "0")), Company: company, Key: shown[attrKey], Entity: shown[attrEntity],
		At: r.Created.UTC(),
	}
	if r.New != nil {
		ms, err := strconv.ParseInt(r.New[attrAt], 10, 64)
		if err != nil {
			return store.Change{}, false, fmt.Errorf("store: the time of %s in the stream's record %s: %w", c.Key, r.Sequence, err)
		}
		c.At = time.UnixMilli(ms).UTC()
	}
	if c.Old, err = image(r.Old); err != nil {
		return store.Change{}, false, fmt.Errorf("store: the stream's record %s: %w", r.Sequence, err)
	}
	if c.New, err = image(r.New); err != nil {
		return store.Change{}, false, fmt.Errorf("store: the stream's record %s: %w", r.Sequence, err)
	}
	return c, r.feeds(&c), nil
}

// feeds decides whether a change is shown. A quiet write over an item that had expired, and was not quiet, is that item's
// removal.
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
	return err == nil && !live(expiry(seconds), at)
}

// image is what a change shows of an item; a tombstone shows nothing.
func image(item map[string]string) (*store.Image, error) {
	if item == nil || item[attrGone] != "" {
		return nil, nil //nolint:nilnil // no image is what a change shows of no item
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
