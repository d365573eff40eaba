package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Of returns the events that a change causes, in sending order. Most changes cause no event.
func Of(c store.Change) ([]Event, error) {
	if c.New == nil && c.Entity != user.Entity { // no event announces another removal
		return nil, nil
	}
	var events []Event
	var err error
	switch c.Entity {
	case delivery.Entity:
		events, err = ofDelivery(c)
	case memory.Entity:
		events, err = ofMemory(c)
	case goal.Entity:
		events, err = ofGoal(c)
	case syncrun.Entity:
		events, err = ofSync(c)
	case timeline.Entity:
		if c.Old == nil {
			events = []Event{of(c, TimelineEntryCreated, c.New.Body)}
		}
	case approval.Entity:
		events, err = ofApproval(c)
	case integration.Entity:
		events, err = ofIntegration(c)
	case executive.RecordEntity:
		events, err = ofAction(c)
	case audit.Entity:
		events, err = ofAudit(c)
	case user.Entity:
		events, err = ofUser(c)
	case recommendation.ToldEntity:
		events, err = ofAdvice(c)
	}
	if err != nil {
		return nil, fmt.Errorf("events of %s: %w", c.Key, err)
	}
	return events, nil
}

func ofMemory(c store.Change) ([]Event, error) {
	if c.Old == nil {
		return updated(c, MemoryCreated)
	}
	return updated(c, MemoryUpdated)
}

func ofGoal(c store.Change) ([]Event, error) {
	if c.Old == nil {
		return []Event{of(c, GoalUpdated, c.New.Body)}, nil
	}
	data, err := withPrevious(c.Old.Body, c.New.Body)
	if err != nil {
		return nil, err
	}
	events := []Event{of(c, GoalUpdated, data)}
	was, is, err := both[goal.Goal](c)
	if was.Alignment.Status != is.Alignment.Status {
		events = append(events, of(c, GoalAlignmentChanged, data))
	}
	return events, err
}

// ofSync returns the events of a live run that has just ended. A sandbox run commits nothing, so it causes no event.
func ofSync(c store.Change) ([]Event, error) {
	was, is, err := both[syncrun.StoredRun](c)
	if err != nil || is.Mode != syncrun.Live || was.State == is.State || !is.State.Ended() {
		return nil, err
	}
	data, err := json.Marshal(is.Run)
	if err != nil {
		return nil, err
	}
	events := []Event{of(c, IntegrationSyncCompleted, data)}
	switch is.State {
	case syncrun.Succeeded:
		events = append([]Event{of(c, MemorySynced, data)}, events...)
	case syncrun.Failed:
		events = append(events, of(c, SyncFailed, data))
	}
	return events, nil
}

// of makes the event of type name that a change causes.
func of(c store.Change, name string, data json.RawMessage) Event {
	return Event{
		ID:   ID(c, name),
		Type: name, Timestamp: c.At.UTC(), CompanyID: c.Company, Data: data,
	}
}

// ID returns the id of the event of type name that a change causes. The id follows from the change's time, company, key and
// version, and from the type.
func ID(c store.Change, name string) string {
	return id.At(c.At, c.Company, c.Key, strconv.FormatInt(c.Version(), 10), name)
}

// withPrevious returns after with a field "previous" that holds the old values of the changed fields, null for a new field.
func withPrevious(before, after json.RawMessage) (json.RawMessage, error) {
	var was, is map[string]json.RawMessage
	if err := fastjson.Unmarshal(before, &was); err != nil {
		return nil, err
	}
	if err := fastjson.Unmarshal(after, &is); err != nil {
		return nil, err
	}
	previous := map[string]json.RawMessage{}
	for name, value := range is {
		if old, ok := was[name]; !ok {
			previous[name] = json.RawMessage("null")
		} else if !bytes.Equal(old, value) {
			previous[name] = old
		}
	}
	for name, old := range was {
		if _, ok := is[name]; !ok {
			previous[name] = old
		}
	}
	var err error
	if is["previous"], err = json.Marshal(previous); err != nil {
		return nil, err
	}
	return json.Marshal(is)
}
