package schedule_test

import (
	"testing"
	"time"

	"orgops/shared/webhook/post"
	"orgops/shared/webhook/schedule"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestNext(t *testing.T) {
	t.Parallel()
	waits := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
		20 * time.Hour, 24 * time.Hour,
	}
	for i, wait := range waits {
		for random, want := range map[float64]time.Duration{0: wait * 8 / 10, 0.5: wait, 0.999999: wait * 12 / 10} {
			at, ok := schedule.Next(i+1, post.Result{}, start, random)
			if !ok {
				t.Errorf("after attempt %d with %g: no retry, want one in %s", i+1, random, want)
			}
			if off := at.Sub(start.Add(want)).Abs(); off > want/100_000+time.Millisecond {
				t.Errorf("after attempt %d with %g: retry in %s, want %s", i+1, random, at.Sub(start), want)
			}
		}
	}
	ends := []struct {
		made  int
		class post.Class
	}{{10, post.Failed}, {11, post.Throttled}, {1, post.Gone}, {1, post.Delivered}}
	for _, tt := range ends {
		if at, ok := schedule.Next(tt.made, post.Result{Class: tt.class}, start, 0.5); ok {
			t.Errorf("%s after %d attempts: retry at %s, want no retry", tt.class, tt.made, at)
		}
	}
	asked := post.Result{Class: post.Throttled, RetryAfter: time.Hour}
	if at, _ := schedule.Next(1, asked, start, 0.5); !at.Equal(start.Add(time.Hour)) {
		t.Errorf("asked for an hour: retry in %s, want %s", at.Sub(start), time.Hour)
	}
	if at, _ := schedule.Next(5, asked, start, 0.5); !at.Equal(start.Add(5 * time.Hour)) {
		t.Errorf("asked for an hour where the schedule waits five: retry in %s, want %s", at.Sub(start), 5*time.Hour)
	}
}
