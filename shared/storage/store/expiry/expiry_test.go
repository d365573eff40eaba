package expiry_test

import (
	"testing"
	"time"

	"orgops/shared/storage/store/expiry"
)

func TestSeconds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 23, 10, 0, 0, 999_999_999, time.FixedZone("", 3600))
	tests := []struct {
		name    string
		expires time.Time
		seconds int64
		back    time.Time
	}{
		{"never", time.Time{}, 0, time.Time{}},
		{"a fraction of a second", at, at.Unix(), at.Truncate(time.Second).UTC()},
		{"the start of 1970", time.Unix(0, 0), 1, time.Unix(1, 0).UTC()},
		{"before 1970", time.Unix(-5, 0), 1, time.Unix(1, 0).UTC()},
	}
	for _, tt := range tests {
		seconds := expiry.Seconds(tt.expires)
		if seconds != tt.seconds {
			t.Errorf("%s: Seconds(%v) = %d, want %d", tt.name, tt.expires, seconds, tt.seconds)
		}
		if back := expiry.Time(seconds); back != tt.back {
			t.Errorf("%s: Time(%d) = %v, want %v", tt.name, seconds, back, tt.back)
		}
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	end := time.Unix(1_000_000, 0)
	tests := []struct {
		name         string
		expires, now time.Time
		want         bool
	}{
		{"never", time.Time{}, end, true},
		{"just before", end, end.Add(-1), true},
		{"at the expiry", end, end, false},
		{"within the last second", end.Add(time.Second - 1), end, false},
		{"later", end, end.Add(time.Hour), false},
	}
	for _, tt := range tests {
		if got := expiry.Live(tt.expires, tt.now); got != tt.want {
			t.Errorf("%s: Live(%v, %v) = %t, want %t", tt.name, tt.expires, tt.now, got, tt.want)
		}
	}
}
