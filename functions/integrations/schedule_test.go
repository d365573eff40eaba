package integrations_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
)

// schedule returns a feed's schedule as a client sees it.
func (s *service) schedule() *struct{ Every, PausedAt string } {
	s.t.Helper()
	var i struct {
		Schedule *struct{ Every, PausedAt string }
	}
	s.do("GET", "/feed", nil).Want(200).JSON(&i)
	return i.Schedule
}

func (s *service) wantEvery(want string) {
	s.t.Helper()
	got := s.schedule()
	if got == nil {
		s.t.Fatalf("no schedule, want %s", want)
	}
	if got.Every != want {
		s.t.Errorf("schedule %s, want %s", got.Every, want)
	}
	if got.PausedAt != "" {
		s.t.Errorf("paused at %s, want it in force", got.PausedAt)
	}
}

// stored returns the feed's integration as it is stored.
func (s *service) stored() (i integration.Integration, version int64) {
	s.t.Helper()
	i, version, err := integration.Load(s.t.Context(), s.company(), "feed")
	errtest.Must(s.t, err)
	return i, version
}

// TestSchedule is part of the configuration and outside of the certification.
func TestSchedule(t *testing.T) {
	t.Parallel()
	s := setup(t)
	feed := map[string]any{"url": "https://example.com/feed", "schedule": "15m"}
	s.configured("feed", feed, 201)
	s.wantEvery("15m")
	first, _ := s.stored()
	feed["maxItems"] = 5
	s.configured("feed", feed, 200)
	if again, _ := s.stored(); !again.Schedule.Since.Equal(first.Schedule.Since) {
		t.Error("an equal schedule began again, want it continued")
	}
	feed["schedule"] = "24h"
	s.configured("feed", feed, 200)
	s.wantEvery("24h")
	delete(feed, "schedule")
	s.configured("feed", feed, 200)
	if got := s.schedule(); got != nil {
		t.Errorf("schedule %+v, want none", got)
	}
	for _, refused := range []any{"14m", "1441m", "25h", "0h", "1d", "15", "15m ", 15, ""} {
		feed["schedule"] = refused
		s.do("POST", "/feed", feed).WantProblem(422, "invalid")
	}
	feed["schedule"] = "14m"
	p := s.do("POST", "/feed", feed).WantProblem(422, "invalid")
	if got, want := fmt.Sprint(p.Errors), "from 15m to 24h, in minutes or hours"; !strings.Contains(got, want) {
		t.Errorf("errors %s, want one with %q", got, want)
	}
}

// TestSchedule_Resumed begins a paused schedule again by everything that may have fixed the cause.
func TestSchedule_Resumed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	feed := map[string]any{"url": "https://example.com/feed", "schedule": "1h"}
	s.configured("feed", feed, 201)
	raw, err := json.Marshal(feed)
	errtest.Must(t, err)
	for _, by := range []struct{ method, path, body string }{
		{"POST", "/feed", string(raw)}, {"POST", "/feed/enable", ""},
	} {
		s.clock.Advance(time.Minute)
		i, version := s.stored()
		i = i.Paused(i.UpdatedAt)
		errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(integration.Key("feed"), integration.Entity, version, i)))
		if got := s.schedule(); got.PausedAt == "" {
			t.Error("the pause is not shown, want its time")
		}
		var body any
		if by.body != "" {
			body = by.body
		}
		s.do(by.method, by.path, body)
		s.wantEvery("1h")
	}
	i, version := s.stored()
	i = i.Paused(i.UpdatedAt)
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(integration.Key("feed"), integration.Entity, version, i)))
	s.do("DELETE", "/feed/credentials", nil)
	if got := s.schedule(); got.PausedAt == "" {
		t.Error("the schedule goes on after its credentials were deleted, want it paused")
	}
}
