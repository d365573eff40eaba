package integrations_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTitle gives an integration a title, keeps it when it is configured without one, and removes it. A title needs no new certification.
func TestTitle(t *testing.T) {
	t.Parallel()
	s := setup(t)
	feed := func(more map[string]any) map[string]any {
		body := map[string]any{"url": "https://example.com/feed"}
		for name, value := range more {
			body[name] = value
		}
		return body
	}
	for n, tt := range []struct {
		more map[string]any
		want string
	}{
		{map[string]any{"title": " News of the shop "}, "News of the shop"},
		{nil, "News of the shop"},
		{map[string]any{"title": strings.Repeat("é", 80)}, strings.Repeat("é", 80)},
		{map[string]any{"title": ""}, ""},
	} {
		status := 200
		if n == 0 {
			status = 201
		}
		s.do("POST", "/feed-shop", feed(tt.more)).Want(status)
		var listed struct {
			Items []struct {
				Title  string
				Config json.RawMessage
			}
		}
		s.do("GET", "", nil).Want(200).JSON(&listed)
		if got := listed.Items[0].Title; got != tt.want {
			t.Errorf("title %q after %v, want %q", got, tt.more, tt.want)
		}
		if config := string(listed.Items[0].Config); strings.Contains(config, "title") {
			t.Errorf("the configuration %s has the title, want it apart", config)
		}
	}
	for _, title := range []any{strings.Repeat("x", 81), 5, nil, "two\nlines"} {
		s.do("POST", "/feed-shop", feed(map[string]any{"title": title})).WantProblem(422, "invalid")
	}
}
