package goal

import (
	"context"
	"errors"
	"time"

	"orgops/shared/storage/store"
)

// HistoryEntity and HistoryPrefix name the entity of a goal's history and the prefix of its key.
const (
	HistoryEntity = "goal-history"
	HistoryPrefix = "GOALHISTORY#"
)

// HistoryDays sets for how many days a goal's values are kept.
const HistoryDays = 90

// Value is the last value of a day.
type Value struct {
	Day      string  `json:"day" doc:"the day, in UTC" format:"date" example:"2026-03-01"`
	Current  string  `json:"current" doc:"the value" example:"41200"`
	Progress float64 `json:"progress" doc:"the share of the way from start to target" minimum:"0" maximum:"1"`
}

// History holds the values of a goal, the newest first.
type History struct {
	Values []Value `json:"values"`
}

// LoadHistory reads the history of a goal. Of a goal without a history it returns the zero History and version 0.
func LoadHistory(ctx context.Context, c store.Company, goalID string) (h History, version int64, err error) {
	item, err := c.Get(ctx, HistoryPrefix+goalID, &h)
	if errors.Is(err, store.ErrNotFound) {
		return History{}, 0, nil
	}
	return h, item.Version, err
}

// Record returns the write that adds the value of a goal to its history, or none if the goal has no value, or its measure is that of old. The
// history expires after HistoryDays without a value.
func Record(ctx context.Context, c store.Company, old, g Goal, now time.Time) ([]store.Op, error) {
	if g.Measure == nil || g.Measure.Current == "" || g.Measure.equal(old.Measure) {
		return nil, nil
	}
	h, version, err := LoadHistory(ctx, c, g.ID)
	if err != nil {
		return nil, err
	}
	day := now.UTC().Format(time.DateOnly)
	values := []Value{{Day: day, Current: g.Measure.Current, Progress: g.Progress}}
	oldest := now.UTC().AddDate(0, 0, 1-HistoryDays).Format(time.DateOnly)
	for _, v := range h.Values {
		if v.Day < day && v.Day >= oldest {
			values = append(values, v)
		}
	}
	return []store.Op{c.Save(HistoryPrefix+g.ID, HistoryEntity, version, History{values}).Until(now.AddDate(0, 0, HistoryDays)).Quietly()}, nil
}
