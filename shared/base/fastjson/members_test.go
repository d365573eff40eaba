package fastjson_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fastjson"
	"orgops/shared/testkit/errtest"
)

// FuzzUnmarshalMembers decodes what Unmarshal decodes of an object with the members in any order, and refuses what it refuses.
func FuzzUnmarshalMembers(f *testing.F) {
	for _, raw := range []string{`{"a":1,"head":{"text":"x"},"list":["y"]}`, `[]`, `"list"`, `1`, `null`, `{"head":`, "\"\xff\\\"\""} {
		f.Add([]byte(`{"text":"a","flag":true}`), []byte(raw), true)
		f.Add([]byte(raw), []byte(`["b"]`), false)
	}
	f.Fuzz(func(t *testing.T, head, other []byte, first bool) {
		if !json.Valid(head) || !json.Valid(other) {
			return
		}
		names := []string{`{"head":`, `,"other":`}
		body := names[0] + string(head) + names[1] + string(other) + "}"
		if !first {
			body = `{"other":` + string(other) + `,"head":` + string(head) + "}"
		}
		var want struct {
			Head  bodyOf          `json:"head"`
			Other json.RawMessage `json:"other"`
		}
		wanted := fastjson.Unmarshal([]byte(body), &want)
		got := want
		got.Head, got.Other = bodyOf{}, nil
		members := map[string]any{"head": &got.Head, "other": &got.Other, "absent": new(int)}
		err := fastjson.UnmarshalMembers([]byte(body), members)
		if (wanted == nil) != (err == nil) {
			t.Fatalf("UnmarshalMembers(%q): %v, Unmarshal: %v", body, err, wanted)
		}
		if wanted != nil {
			return
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a == b })); diff != "" {
			t.Errorf("UnmarshalMembers(%q) differs (-Unmarshal +got):\n%s", body, diff)
		}
		if diff := cmp.Diff([]string{"absent"}, slices.Collect(maps.Keys(members))); diff != "" {
			t.Errorf("UnmarshalMembers(%q): missing members differ (-want +got):\n%s", body, diff)
		}
	})
}

// TestUnmarshalMembers_Stops reads nothing after the last member, and finds none in what is not an object.
func TestUnmarshalMembers_Stops(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{`{"a":1,"b":2,"c":`: 2, `{"b":3}`: 3, `{}`: 0, `[2]`: 0, `null`: 0, `"b"`: 0} {
		var b int
		errtest.Must(t, fastjson.UnmarshalMembers([]byte(body), map[string]any{"b": &b}))
		if b != want {
			t.Errorf("b of %s = %d, want %d", body, b, want)
		}
	}
	for _, body := range []string{`{"a":`, `{"a"`, `{`, `{"b":"x"}`, `{"a":1 "b":2}`} {
		if err := fastjson.UnmarshalMembers([]byte(body), map[string]any{"b": new(int)}); err == nil {
			t.Errorf("UnmarshalMembers(%s) gives no error, want one", body)
		}
	}
}
