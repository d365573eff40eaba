package integrations

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/selection"
	"orgops/shared/provider/mapping"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// subscription holds the part of an endpoint's configuration that says which events it gets, and with which body.
type subscription struct {
	Events    []string   `json:"events"`
	Filter    string     `json:"filter"`
	Transform string     `json:"transform"`
	Versions  event.Pins `json:"eventVersions"`
}

// subscriptionOf reads a configuration, which is an object.
func subscriptionOf(config json.RawMessage) (s subscription) {
	_ = json.Unmarshal(config, &s)
	return s
}

// selects reports whether the endpoint has a filter or a transformation.
func (s subscription) selects() bool { return s.Filter != "" || s.Transform != "" }

// problems lists what is wrong with the filter and the transformation.
func (s subscription) problems() []fault.FieldError {
	_, err := mapping.NewSelection(s.Filter, s.Transform)
	var refused *fault.Error
	if errors.As(err, &refused) {
		return refused.Problems
	}
	return nil
}

// Limits of a preview.
const (
	defaultPreviewed = 10
	readForPreview   = 100 // deliveries
)

// FilterPreviewRequest holds a filter and a transformation to try.
type FilterPreviewRequest struct {
	Filter    *string `json:"filter,omitempty" maxLength:"2048" doc:"the filter to try, empty for none; absent: the endpoint's" example:".data.kind == \"issue\""`
	Transform *string `json:"transform,omitempty" maxLength:"2048" doc:"the transformation to try, empty for none; absent: the endpoint's" example:"{text: .data.title}"`
	Limit     int     `json:"limit,omitempty" minimum:"1" maximum:"50" doc:"how many events at most; 10 if absent" example:"10" format:"int32"`
}

// FilterPreview answers what a filter and a transformation make of recent events.
type FilterPreview struct {
	Matched  int             `json:"matched" doc:"events that the endpoint would get" format:"int32"`
	Filtered int             `json:"filtered" doc:"events that the filter leaves out" format:"int32"`
	Failed   int             `json:"failed" doc:"events that would be held, because the filter or the transformation fails" format:"int32"`
	Items    []FilteredEvent `json:"items" nullable:"false" doc:"the events, newest first; then examples of subscribed events that have not happened lately"`
}

// FilteredEvent shows what a filter and a transformation make of an event.
type FilteredEvent struct {
	EventID   string          `json:"eventId" doc:"the event's id" format:"uuid"`
	Event     string          `json:"event" doc:"the event's name" example:"memory.updated"`
	Timestamp time.Time       `json:"timestamp" doc:"when it happened"`
	Example   bool            `json:"example" doc:"true: no such event has happened lately, and this is the example of the catalogue"`
	Verdict   string          `json:"verdict" enum:"matched,filtered,failed" doc:"matched: the endpoint would get it; filtered: the filter leaves it out; failed: it would be held"`
	Body      json.RawMessage `json:"body,omitempty" doc:"the body that the endpoint would get"`
	Steps     int             `json:"steps" doc:"how much work it was; at most 10,000" format:"int32"`
	Error     string          `json:"error,omitempty" doc:"why the filter or the transformation fails"`
}

type filterPreviewInput struct {
	ProviderInput
	Body FilterPreviewRequest
}

type filterPreviewOutput struct{ Body FilterPreview }

// previewFilter tries a filter and a transformation on recent events. It writes nothing.
func (d Deps) previewFilter(ctx context.Context, in *filterPreviewInput) (*filterPreviewOutput, error) {
	stored, err := d.endpoint(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	of := subscriptionOf(stored.Config)
	if in.Body.Filter != nil {
		of.Filter = *in.Body.Filter
	}
	if in.Body.Transform != nil {
		of.Transform = *in.Body.Transform
	}
	tried, err := mapping.NewSelection(of.Filter, of.Transform)
	if err != nil {
		return nil, err
	}
	limit := in.Body.Limit
	if limit == 0 {
		limit = defaultPreviewed
	}
	events, err := d.recent(ctx, stored.Integration, of, limit)
	if err != nil {
		return nil, err
	}
	out := &filterPreviewOutput{}
	out.Body.Items = make([]FilteredEvent, 0, len(events))
	for _, e := range events {
		shown, err := e.tried(ctx, tried)
		if err != nil {
			return nil, err
		}
		out.Body.add(shown)
	}
	return out, nil
}

func (p *FilterPreview) add(e FilteredEvent) {
	switch e.Verdict {
	case "matched":
		p.Matched++
	case "filtered":
		p.Filtered++
	case "failed":
		p.Failed++
	}
	p.Items = append(p.Items, e)
}

// happened is an event with its payload.
type happened struct {
	event.Event
	payload json.RawMessage
	example bool
}

// tried shows what a selection makes of the event.
func (h happened) tried(ctx context.Context, by *mapping.Selection) (FilteredEvent, error) {
	shown := FilteredEvent{EventID: h.ID, Event: h.Type, Timestamp: h.Timestamp, Example: h.example}
	from, err := mapping.NewSource(h.Event)
	if err != nil {
		return shown, err
	}
	got, err := by.Apply(ctx, from)
	shown.Steps = got.Steps
	var failed *mapping.SelectError
	switch {
	case errors.As(err, &failed):
		shown.Verdict, shown.Error = "failed", failed.Error()
	case err != nil:
		return shown, err
	case !got.Wanted:
		shown.Verdict = "filtered"
	default:
		shown.Verdict, shown.Body = "matched", h.payload
		if got.Body != nil {
			shown.Body = got.Body
		}
	}
	return shown, nil
}

// recent returns the latest events to which an endpoint subscribes, in its versions, as they were sent to any endpoint, and examples of the
// others. A caller that is bound to the integration sees what was sent there alone.
func (d Deps) recent(ctx context.Context, i integration.Integration, of subscription, limit int) ([]happened, error) {
	kinds, versions := d.kinds(), map[string]int{}
	for _, k := range kinds {
		if event.Matches(of.Events, k.Name) {
			versions[k.Name] = k.Sent(of.Versions[k.Name], d.Now())
		}
	}
	page, err := web.Tenant(ctx).Query(ctx, store.Query{Prefix: delivery.Prefix, Desc: true, Limit: readForPreview})
	if err != nil {
		return nil, store.Fault(err, "")
	}
	bound := web.CallerOf(ctx).Provider
	var all []happened
	seen := map[string]bool{} // ids and names
	for _, item := range page.Items {
		var one delivery.Delivery
		var h happened
		if err := item.Decode(&one); err != nil {
			return nil, err
		}
		switch {
		case len(all) == limit:
			return all, nil
		case seen[one.EventID], bound != "" && one.Endpoint != i.Provider, max(one.Version, 1) != versions[one.Event]:
			continue
		case json.Unmarshal(one.Payload, &h.Event) != nil || h.ID != one.EventID: // it was transformed
			continue
		}
		h.payload = one.Payload
		all = append(all, h)
		seen[h.ID], seen[h.Type] = true, true
	}
	examples, err := exampleEvents()
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		if seen[k.Name] || len(all) == limit || versions[k.Name] == 0 {
			continue
		}
		h := happened{example: true}
		if h.Event, err = k.In(versions[k.Name], examples[k.Name]); err == nil {
			h.payload, err = h.Payload()
		}
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

// selected returns what an endpoint's filter and transformation made of events, by day, and nil for one without.
func selected(ctx context.Context, i integration.Integration) ([]selection.Counts, error) {
	if !i.Has(integration.EventDeliver) || !subscriptionOf(i.Config).selects() {
		return nil, nil
	}
	return selection.List(ctx, web.Tenant(ctx), i)
}

// sum counts all events of some days.
func sum(days []selection.Counts) (n int64) {
	for _, day := range days {
		n += day.Matched + day.Filtered + day.Failed
	}
	return n
}
