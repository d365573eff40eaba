// Package storetest is the conformance suite of the item store: what every driver of store.Store and store.Feed does
// alike. It uses the contract only, so a driver's own test is a few lines around Run.
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"orgops/shared/clocktest"
	"orgops/shared/id"
	"orgops/shared/store"
)

// Driver is what is tested.
type Driver interface {
	store.Store
	store.Feed
}

// Harness is how the suite meets a driver.
type Harness struct {
	// Open returns a driver over a store that holds nothing and whose feed nobody has consumed, opened for Consumers and
	// with now as its clock. It is closed at the end of the test. Tests run at the same time, each with its own.
	Open func(t *testing.T, now func() time.Time) Driver
	// Sweep removes what has expired by the driver's clock. Nil where the backend does so in its own time: what becomes
	// of a swept item is then not tested.
	Sweep func(t *testing.T, d Driver)
	// Unfinished is the number of unfinished changes that Open limits a consumer to; small, and at least 16. 0 where it
	// cannot be set: back-pressure is then not tested.
	Unfinished int
}

// patience is how long a change may take from its commit to a consumer.
const patience = 30 * time.Second

// Consumers are the names that the suite consumes the feed by.
func Consumers() []string { return []string{"alpha", "beta"} }

// Run tests the driver.
func Run(t *testing.T, h Harness) {
	tests := []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"Get", testGet},
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

// newClock stands at a millisecond that is not a whole second.
func newClock() *clocktest.Clock {
	return clocktest.At(time.Now().UTC().Truncate(time.Second).Add(123 * time.Millisecond))
}

// fixture is a driver, its clock and a company of its own.
type fixture struct {
	Driver
	clock *clocktest.Clock
	c     store.Company
}

func open(t *testing.T, h Harness) *fixture {
	t.Helper()
	clock := newClock()
	d := h.Open(t, clock.Now)
	return &fixture{Driver: d, clock: clock, c: store.For(d, id.New())}
}

// note is the body that most tests store.
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
	var got note
	item, err := f.c.Get(t.Context(), key, &got)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if item.Version != version || got.N != n {
		t.Fatalf("get %s: version %d, n %d; want version %d, n %d", key, item.Version, got.N, version, n)
	}
	return item
}

func (f *fixture) absent(t *testing.T, key string) {
	t.Helper()
	if _, err := f.c.Get(t.Context(), key, nil); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get %s: %v, want ErrNotFound", key, err)
	}
}

// conflict expects a commit to be refused for the op at index.
func (f *fixture) conflict(t *testing.T, index int, ops ...store.Op) {
	t.Helper()
	err := f.Commit(t.Context(), ops...)
	var conflict *store.ConflictError
	if !errors.Is(err, store.ErrConflict) || !errors.As(err, &conflict) {
		t.Fatalf("commit: %v, want a ConflictError", err)
	}
	if conflict.Index != index || conflict.Key != ops[index].Key {
		t.Fatalf("conflict of op %d, %q; want op %d, %q", conflict.Index, conflict.Key, index, ops[index].Key)
	}
}

// decode is the n of an image, 0 for none.
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

// brief is a change in one line: key, entity, version:n before and after.
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
