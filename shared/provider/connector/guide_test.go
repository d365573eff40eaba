package connector_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

var (
	_ connector.Authenticated = (*pulse)(nil)
	_ connector.Lister        = (*pulse)(nil)
	_ connector.Checker       = (*pulse)(nil)
)

// maxSample is the number of lines within which the guide promises a connector.
const maxSample = 150

// TestGuide holds the sample to the promised size, and the guide's excerpts to the sample.
func TestGuide(t *testing.T) {
	t.Parallel()
	sample, err := os.ReadFile("pulse_test.go")
	errtest.Must(t, err)
	if n := strings.Count(string(sample), "\n"); n >= maxSample {
		t.Errorf("the sample has %d lines, want fewer than %d", n, maxSample)
	}
	guide, err := os.ReadFile("README.md")
	errtest.Must(t, err)
	excerpts := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(excerpts) == 0 {
		t.Error("the guide shows nothing of the sample, want excerpts")
	}
	for _, e := range excerpts {
		if !strings.Contains(string(sample), e[1]) {
			t.Errorf("the guide shows what the sample does not have:\n%s", e[1])
		}
	}
}

// fetch fetches every page from a status page that answers so.
func fetch(t *testing.T, answer http.HandlerFunc) (titles []string, err error) {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	p := &pulse{client: outbound.New(outbound.Options{AllowLoopback: true}), now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
	config, err := json.Marshal(map[string]string{"url": server.URL})
	errtest.Must(t, err)
	if problems := p.CheckConfig(config); len(problems) > 0 {
		t.Errorf("problems %v, want none", problems)
	}
	for checkpoint := json.RawMessage(nil); ; {
		page, err := p.Fetch(t.Context(), connector.Fetch{Config: config, Credentials: map[string]string{"token": "right"}, Checkpoint: checkpoint})
		if err != nil {
			return titles, err
		}
		for _, m := range page.Memories {
			titles = append(titles, m.Title)
		}
		if checkpoint = page.Checkpoint; checkpoint == nil {
			return titles, nil
		}
	}
}

// TestSample runs the guide's connector against a server that pages, throttles, refuses and fails.
func TestSample(t *testing.T) {
	t.Parallel()
	titles, err := fetch(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprint(w, `{"incidents":[{"id":"1","name":"Slow"}],"cursor":"a/b"}`)
			return
		}
		fmt.Fprintf(w, `{"incidents":[{"id":"2","name":%q}]}`, r.URL.Query().Get("cursor"))
	})
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"Slow", "a/b"}, titles); diff != "" {
		t.Errorf("memories differ (-want +got):\n%s", diff)
	}
	status := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if status == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", "90")
			}
			w.WriteHeader(status)
			fmt.Fprint(w, `{"incidents":[{"id`)
		}
	}
	_, err = fetch(t, status(http.StatusTooManyRequests))
	var throttled *connector.ThrottledError
	if !errors.As(err, &throttled) {
		t.Fatalf("429: %v, want to be throttled", err)
	}
	if got, want := throttled.Until, time.Unix(1_800_000_090, 0); !got.Equal(want) {
		t.Errorf("throttled until %v, want %v", got, want)
	}
	if _, err = fetch(t, status(http.StatusForbidden)); !errors.Is(err, connector.ErrRefused) {
		t.Errorf("403: %v, want %v", err, connector.ErrRefused)
	}
	for code, want := range map[int]string{http.StatusOK: "cut off", http.StatusBadGateway: "answers 502"} {
		if _, err = fetch(t, status(code)); !strings.Contains(errtest.Message(err), want) {
			t.Errorf("%d: %v, want %q in it", code, err, want)
		}
	}
}
