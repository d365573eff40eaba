package mapping_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/provider/mapping"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

const happened = `{"id":"e","type":"memory.updated","timestamp":"2026-01-01T00:00:00Z","companyId":"c",
	"data":{"kind":"issue","title":"Login <fails>","n":12345678901234567890,"labels":["a","b"],"previous":{"title":"Login"}}}`

func source(t testing.TB, payload string) mapping.Source {
	t.Helper()
	var e event.Event
	errtest.Must(t, json.Unmarshal([]byte(payload), &e))
	s, err := mapping.NewSource(e)
	errtest.Must(t, err)
	return s
}

func selection(t testing.TB, filter, transform string) *mapping.Selection {
	t.Helper()
	s, err := mapping.NewSelection(filter, transform)
	errtest.Must(t, err)
	return s
}

func TestSelection_Apply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		filter, transform string
		wanted            bool
		body              string
	}{
		{"", "", true, ""},
		{`.data.kind == "issue"`, "", true, ""},
		{`.data.kind == "pull"`, `{}`, false, ""},
		{`.data.kind == "pull" or (.data.labels | any(. == "b"))`, "", true, ""},
		{`.type == "memory.updated" and .previous.title != .data.title`, `{text: .data.title, at: .timestamp}`, true, `{"at":"2026-01-01T00:00:00Z","text":"Login \u003cfails\u003e"}`},
		{"", `[.data.n, .previous]`, true, `[12345678901234567890,{"title":"Login"}]`},
		{`.previous == null`, "", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.filter+" "+tt.transform, func(t *testing.T) {
			t.Parallel()
			got, err := selection(t, tt.filter, tt.transform).Apply(t.Context(), source(t, happened))
			errtest.Must(t, err)
			if got.Wanted != tt.wanted {
				t.Errorf("wanted = %t, want %t", got.Wanted, tt.wanted)
			}
			if diff := cmp.Diff(tt.body, string(got.Body)); diff != "" {
				t.Errorf("body differs (-want +got):\n%s", diff)
			}
			var retried struct{ Payload json.RawMessage }
			stored := store.Company{}.Create("key", delivery.Entity, delivery.Delivery{Payload: got.Body})
			errtest.Must(t, store.Item{Body: stored.Body}.Decode(&retried))
			if diff := cmp.Diff(string(got.Body), strings.TrimPrefix(string(retried.Payload), "null")); diff != "" {
				t.Errorf("body of a retry differs (-first attempt +retry):\n%s", diff)
			}
		})
	}
}

// TestSelection_Apply_Fails checks that what cannot be evaluated is an error with the reason, which quotes nothing of the event.
func TestSelection_Apply_Fails(t *testing.T) {
	t.Parallel()
	tests := map[[2]string]string{
		{`.data.title`, ""}:       `the filter gives a text; it must give true or false, such as .data.kind == "issue"`,
		{`.data.none`, ""}:        `the filter gives null; it must give true or false, such as .data.kind == "issue"`,
		{`.data.title | any`, ""}: `the filter .[] needs a list or an object, but the value is a string`,
		{"", `.data.title`}:       "the transform gives a text; it must give an object or a list",
		{"", `.data.labels[]`}:    "the transform gives more than one value; take one with first(…), or make a list with […]",
		{`.data.labels | all(true)`, `[.data.labels[] | ` + strings.Repeat("[., .] | ", 13) + `.]`}: "the transform needs too much work for this event: it may use 10,000 steps; select fewer items, or shorter texts",
	}
	for of, want := range tests {
		t.Run(of[0]+of[1], func(t *testing.T) {
			t.Parallel()
			_, err := selection(t, of[0], of[1]).Apply(t.Context(), source(t, happened))
			var failed *mapping.SelectError
			if !errors.As(err, &failed) {
				t.Fatalf("err = %v, want a SelectError", err)
			}
			if strings.Contains(err.Error(), "Login") {
				t.Errorf("err = %v, want it without what the event holds", err)
			}
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("err = %v, want %s", err, want)
			}
		})
	}
}

// TestSelection_Apply_Large checks that a transformation makes at most as many bytes as an event has.
func TestSelection_Apply_Large(t *testing.T) {
	t.Parallel()
	s := selection(t, "", `[.data.body, .data.body]`)
	event := func(n int) mapping.Source {
		return source(t, fmt.Sprintf(`{"type":"memory.updated","data":{"body":%q}}`, strings.Repeat("b", n)))
	}
	_, err := s.Apply(t.Context(), event(9_900))
	errtest.Must(t, err)
	_, err = s.Apply(t.Context(), event(10_100))
	const want = "the transform gives more than 20000 bytes"
	if got := fmt.Sprint(err); got != want {
		t.Errorf("err = %s, want %s", got, want)
	}
	_, err = s.Apply(t.Context(), source(t, `{"type":"memory.updated","data":{"body":"`+strings.Repeat("<", 1_700)+`"}}`))
	if got := fmt.Sprint(err); got != want {
		t.Errorf("err = %s for a body that is longer when it is stored, want %s", got, want)
	}
}

// TestNewSelection_Refused checks what is refused when it is stored, with its place.
func TestNewSelection_Refused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		filter, transform string
		want              []string
	}{
		{`.payload.kind == "issue"`, "", []string{"/filter reads .data, which an event does not have; it has .type, .timestamp, .data and .previous"}},
		{`.data.kind ==`, `{url: env}`, []string{"/filter is not complete: it ends where a value, an operator or a closing bracket must follow", "/transform the function env is not part of the language"}},
		{`now > 1`, `{s: $secret}`, []string{"/filter the function now is not part of the language", "/transform a variable ($secret) is not part of the language; read each value by its path, such as .data.id"}},
		{`.type == "a" or (.url == "b")`, `.headers`, []string{"/filter reads .url, which an event does not have; it has .type, .timestamp, .data and .previous", "/transform reads .headers, which an event does not have; it has .type, .timestamp, .data and .previous"}},
	}
	for _, tt := range tests {
		_, err := mapping.NewSelection(tt.filter, tt.transform)
		var refused *fault.Error
		if !errors.As(err, &refused) {
			t.Fatalf("err = %v, want a refusal", err)
		}
		var got []string
		for _, p := range refused.Problems {
			detail, _, _ := strings.Cut(p.Detail, "; the functions are ")
			got = append(got, p.Pointer+" "+detail)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("problems of %s, %s differ (-want +got):\n%s", tt.filter, tt.transform, diff)
		}
	}
}

// BenchmarkSelection measures a plain path with the decoding of the event.
func BenchmarkSelection(b *testing.B) {
	s, err := mapping.NewSelection(`.data.kind == "issue"`, "")
	errtest.Must(b, err)
	var e event.Event
	errtest.Must(b, json.Unmarshal([]byte(happened), &e))
	for b.Loop() {
		from, err := mapping.NewSource(e)
		errtest.Must(b, err)
		_, err = s.Apply(b.Context(), from)
		errtest.Must(b, err)
	}
}
