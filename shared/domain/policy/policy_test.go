package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestCreate(t *testing.T) {
	t.Parallel()
	d := policy.Decision{ID: "d", Verdict: policy.Denied, At: now}
	op := policy.Create(store.For(nil, "c"), d)
	want := store.Op{
		Key: "DECISION#d", Action: store.Put, Condition: store.IfAbsent, Entity: policy.Entity, Expires: now.Add(180 * 24 * time.Hour),
	}
	if diff := cmp.Diff(want, op, cmpopts.IgnoreFields(store.Op{}, "Partition", "Body")); diff != "" {
		t.Errorf("op differs (-want +got):\n%s", diff)
	}
	var stored policy.Decision
	errtest.Must(t, json.Unmarshal(op.Body, &stored))
	if diff := cmp.Diff(d, stored); diff != "" {
		t.Errorf("stored decision differs (-want +got):\n%s", diff)
	}
}
