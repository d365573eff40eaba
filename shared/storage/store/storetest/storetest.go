// Package storetest tests that every driver of store.Store and store.Feed behaves alike. It uses only the contract, so a
// driver's own test is a few lines around Run.
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
)

// Driver combines the interfaces under test.
type Driver interface {
	store.Store
	store.Feed
}

// Harness gives the suite a driver.
type Harness struct {
	// Open returns a driver over an empty store with an unread feed, opened for Consumers, with now as its clock. It closes
	// the driver at the end of the test. Tests run in parallel, each with its own driver.
	Open func(t *testing.T, now func() time.Time) Driver
	// Sweep removes the items that have expired by the driver's clock. It is nil if the backend sweeps on its own schedule;
	// the suite then does not test swept items.
	Sweep func(t *testing.T, d Driver)
	// Prepare, if it is not nil, readies a new company of a test, and may move the clock.
	Prepare func(t *testing.T, d Driver, clock *clocktest.Clock, company string)
	// Unfinished is the limit on changes in flight that Open sets: small, and at least 16. If it is 0 the driver has no
	// such setting, and the suite does not test back-pressure.
	Unfinished int
	// Shares says that no company's unfinished changes fill this limit for the others.
	Shares bool
}

// patience limits the time from a commit to its delivery.
const patience = 30 * time.Second

// Consumers returns the consumer names that the suite uses.
func Consumers() []string { return []string{"alpha", "beta"} }

// Run tests the driver.
func Run(t *testing.T, h Harness) {
	tests := []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"Get", testGet},
		{"GetMany", testGetMany},
		{"Ahead", testAhead},
		{"Conditions", testConditions},
		{"Transactions", testTransactions},
		{"Refused", testRefused},
		{"Concurrency", testConcurrency},
		{"CreateAtOnce", testCreateAtOnce},
		{"Query", testQuery},
		{"QueryPages", testQueryPages},
		{"QueryLarge", testQueryLarge},
		{"Expiry", testExpiry},
		{"Company", testCompany},
		{"Timer", testTimer},
		{"FeedChanges", testFeedChanges},
		{"FeedQuiet", testFeedQuiet},
		{"FeedOrder", testFeedOrder},
		{"FeedExpired", testFeedExpired},
		{"FeedResume", testFeedResume},
		{"FeedRedelivery", testFeedRedelivery},
		{"FeedReplay", testFeedReplay},
		{"FeedBackPressure", testFeedBackPressure},
		{"FeedShare", testFeedShare},
		{"FeedTwoConsumers", testFeedTwoConsumers},
		{"FeedEnd", testFeedEnd},
		{"Cancelled", testCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, h)
		})
	}
}

// newClock returns a clock that stands at a fraction of a second, in whole milliseconds.
func newClock() *clocktest.Clock {
	return clocktest.At(time.Now().UTC().Truncate(time.Second).Add(123 * time.Millisecond))
}

// fixture holds a driver, its clock and a new company.
type fixture struct {
	Driver
	clock *clocktest.Clock
	c     store.Company
}

func open(t *testing.T, h Harness) *fixture {
	t.Helper()
	clock := newClock()
	d := h.Open(t, clock.Now)
	f := &fixture{Driver: d, clock: clock, c: store.For(d, id.New())}
	if h.Prepare != nil {
		h.Prepare(t, d, clock, f.c.ID())
	}
	return f
}

// note models the body that most tests store.
type note struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

func (f *fixture) commit(t *testing.T, ops ...store.Op) {
	t.Helper()
	if err := f.Commit(t.Context(), ops...); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// get expects key to hold n at version.
func (f *fixture) get(t *testing.T, key string, version int64, n int) store.Item {
	t.Helper()
	type state struct {
		Version int64
		N       int
	}
	var body note
	item, err := f.c.Get(t.Context(), key, &body)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if got, want := (state{item.Version, body.N}), (state{version, n}); got != want {
		t.Fatalf("get %s: %+v, want %+v", key, got, want)
	}
	return item
}

func (f *fixture) absent(t *testing.T, key string) {
	t.Helper()
	if _, err := f.c.Get(t.Context(), key, nil); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get %s: %v, want ErrNotFound", key, err)
	}
}

// conflict expects a commit to fail with a conflict on the op at index.
func (f *fixture) conflict(t *testing.T, index int, ops ...store.Op) {
	t.Helper()
	err := f.Commit(t.Context(), ops...)
	if !errors.Is(err, store.ErrConflict) {
		t.Fatalf("commit: %v, want ErrConflict", err)
	}
	got, _ := errors.AsType[*store.ConflictError](err)
	if diff := cmp.Diff(&store.ConflictError{Index: index, Key: ops[index].Key}, got); diff != "" {
		t.Fatalf("conflict (-want +got):\n%s", diff)
	}
}

// decode returns the n of an image, 0 for a nil image.
func decode(t *testing.T, image *store.Image) int {
	t.Helper()
	if image == nil {
		return 0
	}
	var got note
	if err := json.Unmarshal(image.Body, &got); err != nil {
		t.Fatal(err)
	}
	return got.N
}

// brief formats a change in one line: key, entity, version:n before and after.
func brief(t *testing.T, c store.Change) string {
	t.Helper()
	side := func(image *store.Image) string {
		if image == nil {
			return "-"
		}
		return fmt.Sprintf("%d:%d", image.Version, decode(t, image))
	}
	return fmt.Sprintf("%s %s %s %s", c.Key, c.Entity, side(c.Old), side(c.New))
}

func briefs(t *testing.T, changes []store.Change) []string {
	t.Helper()
	var out []string
	for _, c := range changes {
		out = append(out, brief(t, c))
	}
	return out
}
