package notice_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/notice"
	"orgops/shared/testkit/errtest"
)

// Each day has one brief, at its local hour, also on the days on which the clocks change.
func TestSchedule(t *testing.T) {
	t.Parallel()
	every := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	tests := []struct {
		name, zone, at string
		days           []string
		from           time.Time
		want           []string
	}{
		{
			"clocks go forward", "Europe/Berlin", "07:30", every, time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC),
			[]string{"2026-03-29T05:30:00Z", "2026-03-30T05:30:00Z"},
		},
		{
			"the hour that is left out", "Europe/Berlin", "02:30", every, time.Date(2026, 3, 28, 1, 30, 0, 0, time.UTC),
			[]string{"2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"},
		},
		{
			"clocks go back", "Europe/Berlin", "07:30", every, time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC),
			[]string{"2026-10-25T06:30:00Z", "2026-10-26T06:30:00Z"},
		},
		{
			"the hour that comes twice", "Europe/Berlin", "02:30", every, time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC),
			[]string{"2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
		},
		{
			"weekly, on the other side of the date line", "Pacific/Auckland", "08:00", []string{"monday"}, time.Date(2026, 11, 22, 18, 59, 0, 0, time.UTC),
			[]string{"2026-11-22T19:00:00Z", "2026-11-29T19:00:00Z"},
		},
		{
			"weekly, in a zone of quarter hours", "Asia/Kathmandu", "00:00", []string{"friday"}, time.Date(2026, 11, 26, 18, 15, 0, 0, time.UTC),
			[]string{"2026-12-03T18:15:00Z"},
		},
	}
	for _, tt := range tests {
		zone, err := time.LoadLocation(tt.zone)
		errtest.Must(t, err)
		s, from := notice.BriefTimes{At: tt.at, Days: tt.days}, tt.from
		var got []string
		for range tt.want {
			next := s.Next(from, zone)
			if before := s.Before(next.Add(time.Minute), zone); !before.Equal(next) {
				t.Errorf("%s: the brief before %s was at %s, want a minute before", tt.name, next, before)
			}
			from = next
			got = append(got, next.Format(time.RFC3339))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: times differ (-want +got):\n%s", tt.name, diff)
		}
	}
}
