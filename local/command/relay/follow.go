package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"orgops/local/command/apiclient"
)

// Waits between tries while the service does not answer.
const (
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
)

// An idle session asks less often, so that it does not use up the company's requests of a day. It waits a twentieth of the
// time since the last event: maxIdle after five minutes, which gives 5,760 requests a day.
const (
	maxIdle   = 15 * time.Second
	idleShare = 20
)

// held is a delivery as the list shows it.
type held struct {
	ID    string    `json:"deliveryId"`
	Event string    `json:"event"`
	At    time.Time `json:"at"` // the event's time: the delivery is never attempted
}

// follow relays what the service holds for the endpoint, until ctx ends. It keeps its position over every failure.
func (s *session) follow(ctx context.Context) error {
	pause, last := firstWait, s.Now()
	for ctx.Err() == nil {
		relayed, err := s.poll(ctx)
		if relayed > 0 {
			last = s.Now()
		}
		next := max(s.Interval, min(s.Now().Sub(last)/idleShare, maxIdle))
		if err == nil {
			pause = firstWait
		} else if ctx.Err() == nil {
			asked, temporary := apiclient.Temporary(err)
			if !temporary {
				return err
			}
			next, pause = max(pause, asked), min(2*pause, maxWait)
			fmt.Fprintf(s.Out, "%s  trying again in %v: %v\n", clock(s.Now()), next, err)
		}
		s.Wait(ctx, next)
	}
	return nil
}

// poll relays every new delivery, the oldest first, and returns how many it relayed.
func (s *session) poll(ctx context.Context) (relayed int, err error) {
	begun := s.Now()
	since, deep := s.position.since(begun)
	listed, err := s.list(ctx, since)
	if err != nil {
		return 0, err
	}
	slices.Reverse(listed) // the list has the newest first
	for _, d := range listed {
		if s.position.relayed(d.ID) {
			continue
		}
		payload, err := s.payload(ctx, d.ID)
		if err != nil {
			return relayed, err
		}
		if err := s.forward(ctx, d, payload); err != nil {
			return relayed, err
		}
		s.position.add(d)
		relayed++
	}
	if deep {
		s.position.looked(begun)
	}
	return relayed, nil
}

// list returns the deliveries of events since a time.
func (s *session) list(ctx context.Context, since time.Time) ([]held, error) {
	all := []held{}
	q := url.Values{"limit": {"100"}, "since": {since.UTC().Format(time.RFC3339Nano)}}
	for {
		var page struct {
			Items      []held `json:"items"`
			NextCursor string `json:"nextCursor"`
		}
		if err := s.api.Do(ctx, http.MethodGet, "/integrations/"+s.provider+"/deliveries?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all, nil
		}
		q.Set("cursor", page.NextCursor)
	}
}

// payload returns the body of a delivery, byte for byte as the service sends it.
func (s *session) payload(ctx context.Context, id string) ([]byte, error) {
	var d struct {
		Payload json.RawMessage `json:"payload"`
	}
	err := s.api.Do(ctx, http.MethodGet, "/integrations/"+s.provider+"/deliveries/"+id, nil, &d)
	return d.Payload, err
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }
