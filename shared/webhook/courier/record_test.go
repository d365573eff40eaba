package courier_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// TestRecords_Writable checks which companies' attempts may start after some writes.
func TestRecords_Writable(t *testing.T) {
	t.Parallel()
	type write struct {
		company string
		err     error
	}
	away := store.ErrUnavailable
	tests := []struct {
		name   string
		writes []write
		want   map[string]bool
	}{
		{"no write", nil, map[string]bool{"a": true, "b": true, "c": true}},
		{"one company fails", []write{{"a", away}, {"a", away}}, map[string]bool{"a": false, "b": true, "c": true}},
		{"the outcome is unknown", []write{{"a", store.ErrUnknown}}, map[string]bool{"a": false, "b": true, "c": true}},
		{"another succeeds", []write{{"a", away}, {"b", nil}, {"a", away}}, map[string]bool{"a": false, "b": true, "c": true}},
		{"two companies fail", []write{{"a", away}, {"b", away}}, map[string]bool{"a": false, "b": false, "c": false}},
		{"one of them succeeds", []write{{"a", away}, {"b", away}, {"b", nil}}, map[string]bool{"a": false, "b": true, "c": true}},
		{"a conflict is an answer", []write{{"a", away}, {"a", &store.ConflictError{}}}, map[string]bool{"a": true, "b": true, "c": true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := courier.New(courier.Deps{})
			for _, w := range tt.writes {
				c.Wrote(w.company, w.err)
			}
			got := map[string]bool{}
			for company := range tt.want {
				got[company] = c.Writable(company)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("companies whose attempts may start differ (-want +got):\n%s", diff)
			}
		})
	}
}
