package connector_test

import (
	"net/http"
	"strings"
	"testing"

	"orgops/shared/provider/connector"
)

// TestValidatorsOf keeps only what the next request can carry as the server gave it.
func TestValidatorsOf(t *testing.T) {
	t.Parallel()
	const date = "Mon, 02 Mar 2026 12:00:00 GMT"
	tests := []struct {
		tag, modified string
		want          connector.Validators
	}{
		{`W/"a b"`, date, connector.Validators{ETag: `W/"a b"`, LastModified: date}},
		{`"ü"`, "", connector.Validators{ETag: `"ü"`}},
		{"\"\xfc\"", "yesterday", connector.Validators{}},
		{"\"a\x00b\"", date + "\x01", connector.Validators{}},
		{`"` + strings.Repeat("a", 1023) + `"`, "", connector.Validators{}},
	}
	for _, tt := range tests {
		if got := connector.ValidatorsOf(http.Header{"Etag": {tt.tag}, "Last-Modified": {tt.modified}}); got != tt.want {
			t.Errorf("%q and %q: %+v, want %+v", tt.tag, tt.modified, got, tt.want)
		}
	}
}
