// Package parked keeps the changes that a consumer of the feed cannot understand. A consumer parks such a change with the
// reason and goes on, so that one change does not block the feed and nothing is lost. An operator lists the parked changes,
// repairs the cause, and gives them to the consumer again.
package parked

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/base/text"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of a parked change's item and the prefix of its key.
const (
	Entity = "parked"
	Prefix = "PARKED#"
)

// Kept limits how long a parked change is kept.
const Kept = 365 * 24 * time.Hour

const (
	maxReason = 1 << 10   // bytes of a reason
	maxImages = 256 << 10 // bytes of the images, which base64 makes a third longer in the item
)

// Change holds a change that a consumer could not understand, as stored. It has the images of the change, or, if the stream's
// record gave no change, the record.
type Change struct {
	ID       string    `json:"id"` // follows from the consumer and the change
	Consumer string    `json:"consumer"`
	Reason   string    `json:"reason"`
	ParkedAt time.Time `json:"parkedAt"`

	Sequence store.Sequence `json:"sequence"`
	Key      string         `json:"key"`
	Entity   string         `json:"entity"`
	At       time.Time      `json:"at"` // when the change was committed
	Old      *Image         `json:"old,omitempty"`
	New      *Image         `json:"new,omitempty"`
	Record   *Record        `json:"record,omitempty"`
	Omitted  bool           `json:"omitted,omitempty"` // the images were too large to keep

	Retries int `json:"retries,omitempty"` // how often an operator gave the change to the consumer again
}

// Image holds one image of a change. The body is bytes, because it may be no JSON.
type Image struct {
	Version int64  `json:"version"`
	Body    []byte `json:"body"`
}

// Record holds a record of the stream: the item's attributes before and after the write, by name.
type Record struct {
	Sequence string            `json:"sequence"`
	Created  time.Time         `json:"created"`
	Old      map[string][]byte `json:"old,omitempty"`
	New      map[string][]byte `json:"new,omitempty"`
}

// NewRecord returns a Record with these attributes. A nil map means that the item did not exist.
func NewRecord(sequence string, created time.Time, before, after map[string]string) Record {
	return Record{Sequence: sequence, Created: created, Old: toBytes(before), New: toBytes(after)}
}

// Attributes returns the attributes as NewRecord got them.
func (r Record) Attributes() (before, after map[string]string) { return toTexts(r.Old), toTexts(r.New) }

func (r Record) size() (n int) {
	for _, image := range []map[string][]byte{r.Old, r.New} {
		for name, value := range image {
			n += len(name) + len(value)
		}
	}
	return n
}

func toBytes(image map[string]string) map[string][]byte {
	if image == nil {
		return nil
	}
	out := make(map[string][]byte, len(image))
	for name, value := range image {
		out[name] = []byte(value)
	}
	return out
}

func toTexts(image map[string][]byte) map[string]string {
	if image == nil {
		return nil
	}
	out := make(map[string]string, len(image))
	for name, value := range image {
		out[name] = string(value)
	}
	return out
}

// Key returns the sort key of a parked change.
func Key(parkedID string) string { return Prefix + parkedID }

// Decode decodes the body of a parked change's item.
func Decode(body json.RawMessage) (Change, error) {
	var c Change
	if err := json.Unmarshal(body, &c); err != nil {
		return Change{}, fmt.Errorf("decode parked change: %w", err)
	}
	return c, nil
}

// New returns what is stored of a change that a consumer did not understand. The same consumer and change always give the same
// id.
func New(consumer string, c store.Change, reason error, now time.Time) Change {
	out := Change{
		ID: id.At(c.At, consumer, c.Company, c.Key, string(c.Sequence)), Consumer: consumer, Reason: text.Truncate(reason.Error(), maxReason),
		ParkedAt: now.UTC(), Sequence: c.Sequence, Key: c.Key, Entity: c.Entity, At: c.At, Old: image(c.Old), New: image(c.New),
	}
	if size(c.Old)+size(c.New) > maxImages {
		out.Old, out.New, out.Omitted = nil, nil, true
	}
	return out
}

func image(i *store.Image) *Image {
	if i == nil {
		return nil
	}
	return &Image{Version: i.Version, Body: i.Body}
}

func size(i *store.Image) int {
	if i == nil {
		return 0
	}
	return len(i.Body)
}

// WithImages returns c with the change that its record gives now, in place of the record.
func (c Change) WithImages(change store.Change) Change {
	again := New(c.Consumer, change, errors.New(c.Reason), c.ParkedAt)
	again.ID, again.Retries = c.ID, c.Retries
	return again
}

// Original returns the change as the consumer received it. It returns an error for a change whose images were too large to
// keep, and for a record that gave no change.
func (c Change) Original(company string) (store.Change, error) {
	switch {
	case c.Omitted:
		return store.Change{}, fmt.Errorf("the images of %s were too large to keep; replay its record from the stream", c.Key)
	case c.Record != nil:
		return store.Change{}, fmt.Errorf("the stream record of %s gave no change", c.Key)
	}
	return store.Change{
		Sequence: c.Sequence, Company: company, Key: c.Key, Entity: c.Entity, At: c.At, Old: c.Old.original(), New: c.New.original(),
	}, nil
}

func (i *Image) original() *store.Image {
	if i == nil {
		return nil
	}
	return &store.Image{Version: i.Version, Body: i.Body}
}
