package executive

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/phrase"
	"orgops/shared/storage/store"
)

// quotaEntity names the entity of the item that counts an executive's actions of a day.
const quotaEntity = "executive-quota"

// usage counts the actions that an executive asked for in a day.
type usage struct {
	Asked int  `json:"asked"`
	Told  bool `json:"told,omitempty"` // the timeline tells that it asked for more than its quota
}

func quotaKey(executiveID string, now time.Time) string {
	return "EXECUTIVEQUOTA#" + executiveID + "#" + now.UTC().Format(time.DateOnly)
}

func (e Executive) usage(ctx context.Context, c store.Company, now time.Time) (usage, store.Item, error) {
	var used usage
	item, err := c.Get(ctx, quotaKey(e.ID, now), &used)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return used, item, store.Fault(err, "")
	}
	return used, item, nil
}

func (u usage) save(c store.Company, key string, version int64, now time.Time) store.Op {
	return c.Save(key, quotaEntity, version, u).Until(now.Add(48 * time.Hour)).Quietly()
}

// Spend returns the write that counts one more action of the day (UTC). It returns fault.QuotaExceeded if the executive has
// asked for as many as its quota allows.
func (e Executive) Spend(ctx context.Context, c store.Company, now time.Time) (store.Op, error) {
	now = now.UTC()
	used, item, err := e.usage(ctx, c, now)
	if err != nil {
		return store.Op{}, err
	}
	if used.Asked >= e.QuotaPerDay {
		f := fault.Newf(fault.QuotaExceeded, "the executive may ask for %s a day; its next day begins at midnight UTC", phrase.Plural(e.QuotaPerDay, "action", "actions"))
		f.RetryAfter = now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
		return store.Op{}, f
	}
	used.Asked++
	return used.save(c, quotaKey(e.ID, now), item.Version, now), nil
}

// Tell returns the write that records that the timeline tells of a day on which the executive asked for more than its quota.
// first is false if the timeline tells it already.
func (e Executive) Tell(ctx context.Context, c store.Company, now time.Time) (op store.Op, first bool, err error) {
	used, item, err := e.usage(ctx, c, now)
	if err != nil || used.Told {
		return store.Op{}, false, err
	}
	used.Told = true
	return used.save(c, quotaKey(e.ID, now), item.Version, now), true, nil
}
