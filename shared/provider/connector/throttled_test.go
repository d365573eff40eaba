package connector_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

func TestThrottled(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		status     int
		retryAfter string
		want       time.Duration // 0: not throttled
	}{
		{429, "120", 2 * time.Minute},
		{429, "", 5 * time.Minute},
		{429, "soon", 5 * time.Minute},
		{503, "Fri, 01 May 2026 13:00:00 GMT", time.Hour},
		{503, "9999999", 24 * time.Hour},
		{503, "", 0},
		{502, "120", 2 * time.Minute},
		{504, "120", 2 * time.Minute},
		{500, "120", 2 * time.Minute},
		{500, "", 0},
		{403, "120", 0},
		{200, "", 0},
	}
	for _, tt := range tests {
		err := connector.Throttled(&http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.retryAfter}}}, now)
		if tt.want == 0 {
			errtest.Must(t, err)
			continue
		}
		var throttled *connector.ThrottledError
		if !errors.As(err, &throttled) {
			t.Fatalf("%d %q: err = %v, want a *connector.ThrottledError", tt.status, tt.retryAfter, err)
		}
		if want := now.Add(tt.want); !throttled.Until.Equal(want) {
			t.Errorf("%d %q: throttled until %v, want %v", tt.status, tt.retryAfter, throttled.Until, want)
		}
	}
}
