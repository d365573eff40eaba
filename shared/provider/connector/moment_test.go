package connector_test

import (
	"testing"
	"time"

	"orgops/shared/provider/connector"
)

// TestMoment reads one moment in every form that providers use.
func TestMoment(t *testing.T) {
	t.Parallel()
	const second, minute, midnight = "2026-05-01T10:20:30Z", "2026-05-01T10:20:00Z", "2026-05-01T00:00:00Z"
	tests := []struct{ given, want string }{
		{"2026-05-01T10:20:30Z", second},
		{"2026-05-01t10:20:30z", second},
		{" 2026-05-01T12:20:30+02:00\n", second},
		{"2026-05-01T12:20:30+0200", second},
		{"2026-05-01T12:20:30+02", second},
		{"2026-05-01 10:20:30", second},
		{"2026-05-01 05:20:30 -0500", second},
		{"2026-05-01T10:20:30", second},
		{"2026-05-01T10:20:30.250Z", "2026-05-01T10:20:30.25Z"},
		{"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
		{"20260501T102030Z", second},
		{"20260501T122030+0200", second},
		{"2026-04-30T24:00:00Z", midnight},
		{"Thu, 30 Apr 2026 24:00 GMT", midnight},
		{"Fri May 01 2026 12:20:30 GMT+0200 (Central European Summer Time)", second},
		{"Fri, 01 May 2026 12:20:30 UTC+2", second},
		{"2026-05-01 10:20:30.000 +0000 UTC", second},
		{"2026-05-01T12:20:30+02:00[Europe/Berlin]", second},
		{"May 1, 2026 10:20:30 AM", second},
		{"1 May 2026 12:20 am", "2026-05-01T00:20:00Z"},
		{"1 May 2026 12:20 PM", "2026-05-01T12:20:00Z"},
		{"May 1, 2026, 3:04:05 PM", "2026-05-01T15:04:05Z"},
		{"1 May 2026 13:20 PM", "none"},
		{"2026-05-01T24:20:00Z", "none"},
		{"2026-05-01T10:20Z", minute},
		{"2026-05-01", midnight},
		{"20260501", midnight},
		{"2026-05", midnight},
		{"2026", "2026-01-01T00:00:00Z"},
		{"Fri, 01 May 2026 10:20:30 GMT", second},
		{"Fri, 1 May 2026 10:20:30 +0000", second},
		{"fri, 1 may 2026 10:20:30 z", second},
		{"Fri, 01 May 2026 06:20:30 EDT", second},
		{"Fri, 01 May 2026 12:20:30 CEST", second},
		{"Fri, 01 May 26 10:20 UT", minute},
		{"01 May 2026 10:20 +0000 (UTC)", minute},
		{"Friday, 01-May-26 10:20:30 GMT", second},
		{"Fri May  1 10:20:30 2026", second},
		{"Fri May 01 12:20:30 +0200 2026", second},
		{"Friday, May 1, 2026", midnight},
		{"1 May 2026", midnight},
		{"1777630830", second},
		{"1777630830.5", "2026-05-01T10:20:30.5Z"},
		{"1777630830250", "2026-05-01T10:20:30.25Z"},
		{"1777630830250000", "2026-05-01T10:20:30.25Z"},
		{"", "none"},
		{"soon", "none"},
		{"7", "none"},
		{"0001-01-01T00:00:00Z", "none"},
		{"2026-13-01T10:20:30Z", "none"},
		{"2026-05-01T10:20:30+99:00", "none"},
		{"-1777630830", "none"},
		{"NaN", "none"},
	}
	for _, tt := range tests {
		got := "none"
		if at := connector.Moment(tt.given); at != nil {
			got = at.Format(time.RFC3339Nano)
		}
		if got != tt.want {
			t.Errorf("%q = %s, want %s", tt.given, got, tt.want)
		}
	}
}
