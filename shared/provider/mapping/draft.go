package mapping

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/itchyny/gojq"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// Maximum lengths of a goal's and a note's texts, in bytes. Longer texts are cut, as a memory's are.
const (
	maxTitle  = 1024
	maxTarget = 4096
)

// action describes what rules may give an action, and makes it of the fields' values.
type action struct {
	port     integration.Port
	required []string
	fields   []string
	draft    func(v *values) connector.Action
}

func actions() map[integration.Port]action {
	return map[integration.Port]action{
		integration.MemoryUpsert: {
			integration.MemoryUpsert, []string{"externalId", "title"},
			[]string{"externalId", "kind", "title", "body", "url", "goal", "work", "updatedAt"}, memoryDraft,
		},
		integration.GoalUpdate: {
			integration.GoalUpdate, []string{"externalId", "title", "state"},
			[]string{"externalId", "title", "target", "url", "progress", "measure", "dueAt", "startedAt", "state", "updatedAt"}, goalDraft,
		},
		integration.TimelineNote: {
			integration.TimelineNote, []string{"title"},
			[]string{"title", "subject", "details", "once"}, noteDraft,
		},
	}
}

func memoryDraft(v *values) connector.Action {
	return connector.Action{Memory: &memory.Draft{
		ExternalID: v.text("externalId"), Kind: v.text("kind"), Title: v.text("title"), Body: v.text("body"), URL: v.text("url"),
		Goal: v.text("goal"), Work: memory.Work(v.text("work")), UpdatedAt: stamp(v.time("updatedAt")),
	}}
}

func goalDraft(v *values) connector.Action {
	return connector.Action{Goal: &goal.Draft{
		ExternalID: v.text("externalId"), Title: text.Truncate(v.text("title"), maxTitle), Target: text.Truncate(v.text("target"), maxTarget),
		URL: v.text("url"), Progress: v.share("progress"), DueAt: v.time("dueAt"), StartedAt: v.time("startedAt"),
		State: goal.State(v.text("state")), Measure: v.measure("measure"), UpdatedAt: stamp(v.time("updatedAt")),
	}}
}

func noteDraft(v *values) connector.Action {
	return connector.Action{Note: &connector.NoteDraft{
		Title: text.Truncate(v.text("title"), maxTitle), Subject: v.text("subject"), Details: v.details("details"), Once: v.text("once"),
	}}
}

// values holds the values of an action's fields, and the first problem with one.
type values struct {
	*meter
	at      string
	given   map[string]any
	problem *fault.FieldError
}

func (v *values) refuse(name, detail string) {
	if v.problem == nil {
		v.problem = &fault.FieldError{Pointer: v.at + "/" + name, Detail: detail}
	}
}

func (v *values) text(name string) string {
	switch s := v.given[name].(type) {
	case nil:
		return ""
	case string:
		return s
	}
	v.refuse(name, "must be a string")
	return ""
}

func (v *values) time(name string) *time.Time {
	s, given := v.given[name].(string)
	if n, ok := gojq.ToFloat64(v.given[name]); ok {
		s, given = strconv.FormatFloat(n, 'f', -1, 64), true
	}
	switch {
	case !given && v.given[name] != nil:
		v.refuse(name, "must be a time, as a string or as a number of seconds since 1970")
	case s != "":
		var t time.Time
		if t.UnmarshalText([]byte(s)) == nil && t.UTC().Year() != 1 { // the usual form
			return &t
		}
		w := connector.WhenIn(s)
		if w.Unread != "" {
			v.refuse(name, "must be a time, such as 2026-03-01T12:00:00Z, a date, or a number of seconds since 1970")
		}
		return w.At
	}
	return nil
}

// share returns a number, or the share of what is done, given as {done, open}.
func (v *values) share(name string) float64 {
	given := v.given[name]
	if given == nil {
		return 0
	}
	if n, ok := gojq.ToFloat64(given); ok {
		return n
	}
	parts, _ := given.(map[string]any)
	done, okDone := gojq.ToFloat64(parts["done"])
	open, okOpen := gojq.ToFloat64(parts["open"])
	if !okDone || !okOpen {
		v.refuse(name, "must be a number")
		return 0
	}
	if done > 0 && open >= 0 {
		return done / (done + open)
	}
	return 0
}

// measure returns the number that a goal is measured by: an object whose numbers may be numbers or texts.
func (v *values) measure(name string) *goal.Measure {
	if v.given[name] == nil {
		return nil
	}
	given, ok := v.given[name].(map[string]any)
	if !ok {
		v.refuse(name, "must be an object, such as {current: .item.mrr, target: 50000, unit: \"EUR\", direction: \"up\"}")
		return nil
	}
	of := func(member string) string {
		if given[member] == nil {
			return ""
		}
		text, err := v.meter.text(given[member])
		if err != nil {
			v.refuse(name+"/"+member, err.Error())
		}
		return text
	}
	return &goal.Measure{Current: of("current"), Target: of("target"), Start: of("start"), Unit: of("unit"), Direction: goal.Direction(of("direction"))}
}

// details returns an object as JSON, without the members that are null.
func (v *values) details(name string) json.RawMessage {
	given := v.given[name]
	if given == nil {
		return nil
	}
	if object, ok := given.(map[string]any); ok && v.pay(len(object)*nodeUnits) == nil {
		present := make(map[string]any, len(object))
		for member, value := range object {
			if value != nil {
				present[member] = value
			}
		}
		given = present
	}
	raw, err := v.json(given, 1)
	if err != nil {
		v.refuse(name, err.Error())
		return nil
	}
	return raw
}

// stamp returns a time of the provider's in UTC, or nil for a time that RFC 3339 cannot express.
func stamp(t *time.Time) *time.Time {
	if t == nil || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
		return nil
	}
	u := t.UTC()
	return &u
}
