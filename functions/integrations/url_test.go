package integrations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
)

// TestConfigure_URL refuses an address that is no valid URL in every connector that takes one, and says what to write.
func TestConfigure_URL(t *testing.T) {
	t.Parallel()
	list, _ := sourceOf("http", "")
	repository, _ := sourceOf("github", "")
	fields := map[string]struct {
		config map[string]any
		field  string
	}{
		"webhook":      {map[string]any{"events": []string{"memory.*"}}, "url"},
		"webhook-more": {map[string]any{"events": []string{"memory.*"}}, "url"},
		"http":         {list, "url"},
		"feed":         {map[string]any{}, "url"},
		"github":       {repository, "baseUrl"},
	}
	const absolute = "must be an absolute http or https url with a host, such as https://example.com/hooks"
	tests := map[string]string{
		"https://example.com/p a":       "has a space at byte 22; write %20",
		"https://example.com/p ":        "begins or ends with white space; remove it",
		"\nhttps://example.com/p":       "begins or ends with white space; remove it",
		"https://example.com/p\tq":      "has a control character at byte 22; remove it",
		"https://example.com/p\u0000":   "has a control character at byte 22; remove it",
		"https://example.com/%zz":       "has a % at byte 21 without two hexadecimal digits; write %25 for a percent sign",
		"https://example.com/p\\q":      "has a backslash at byte 22; write / between the parts of a path, or %5C",
		"https://example.com/é":         "has a letter beyond ASCII at byte 21; write its UTF-8 percent-encoded, such as %C3%A9",
		"https://bücher.example/p":      "write an international domain name in its ASCII form (xn--…)",
		"https://user:pw@example.com/p": "a url must not carry a user name or password",
		"https://example.com/p#top":     "a url must not have a fragment",
		"https://example.com:99999/p":   "the port must be a number from 1 to 65535",
		"https://example.com:0/p":       "the port must be a number from 1 to 65535",
		"http:/example.com":             absolute,
		"//example.com/p":               absolute,
		"https:///p":                    absolute,
		"ftp://example.com/p":           absolute,
		"not a url":                     "has a space at byte 4; write %20",
	}
	s := setup(t)
	for provider, at := range fields {
		for url, detail := range tests {
			p := s.do("POST", "/"+provider, with(at.config, at.field, url)).WantProblem(422, "invalid")
			if diff := cmp.Diff([]fault.FieldError{{Pointer: "/" + at.field, Detail: detail}}, p.Errors); diff != "" {
				t.Errorf("%s with %q: problems (-want +got):\n%s", provider, url, diff)
			}
		}
	}
	s.wantNone("INTEGRATION#")
}
