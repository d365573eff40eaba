// Package selection counts what the filters and transformations of endpoints make of events.
//
// Each process that fans events out keeps one item a day and endpoint, so that it writes without a read.
package selection

import (
	"context"
	"strings"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// Entity and prefix name the entity of an item with counts and the prefix of its key.
const (
	Entity = "selected"
	prefix = "SELECTED#"
)

// kept limits how long counts are kept after their day.
const kept = 8 * 24 * time.Hour

// Counts holds what became of the events that an endpoint subscribes to, on one day (UTC).
type Counts struct {
	Date     string `json:"date" format:"date" doc:"the day (UTC)" example:"2026-02-23"`
	Matched  int64  `json:"matched" doc:"events that the endpoint gets" example:"12"`
	Filtered int64  `json:"filtered" doc:"events that its filter leaves out" example:"340"`
	Failed   int64  `json:"failed" doc:"events that are held because the filter or the transformation failed; a later success of theirs does not change it" example:"1"`
	Reason   string `json:"reason,omitempty" doc:"why one of them failed" example:"the filter gives null; it must give true or false"`
}

// Add adds the counts of the same day, or the first ones of a day.
func (c *Counts) Add(other Counts) {
	c.Date = other.Date
	c.Matched, c.Filtered, c.Failed = c.Matched+other.Matched, c.Filtered+other.Filtered, c.Failed+other.Failed
	if other.Reason != "" {
		c.Reason = other.Reason
	}
}

// Write returns the write of a process's counts of an endpoint. version is that of the counts that it replaces; 0: none.
func (c Counts) Write(company store.Company, provider, incarnation, process string, version int64, now time.Time) store.Op {
	key := prefix + provider + "@" + incarnation + "#" + c.Date + "#" + process
	return company.Save(key, Entity, version, c).Until(now.Add(kept)).Quietly()
}

// Today returns the date of a time.
func Today(now time.Time) string { return now.UTC().Format(time.DateOnly) }

// List returns the counts of an endpoint by day, the latest first.
func List(ctx context.Context, c store.Company, i integration.Integration) ([]Counts, error) {
	all := []Counts{}
	of := prefix + i.Provider + "@" + i.Incarnation + "#"
	for item, err := range c.Items(ctx, store.Query{Prefix: of, Desc: true}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		var one Counts
		if err := item.Decode(&one); err != nil {
			return nil, err
		}
		if one.Date, _, _ = strings.Cut(item.Key[len(of):], "#"); len(all) > 0 && all[len(all)-1].Date == one.Date {
			all[len(all)-1].Add(one)
			continue
		}
		all = append(all, one)
	}
	return all, nil
}
