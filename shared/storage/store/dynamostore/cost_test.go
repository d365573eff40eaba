package dynamostore_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
)

// TestStore_Cost states the cost of every operation: round trips, and capacity units as DynamoDB counts them. A consistent
// read costs a unit per started 4 KB, a write one per started KB, or two in a transaction. A query adds up sizes before it
// rounds, and reads one item more than it returns.
func TestStore_Cost(t *testing.T) {
	t.Parallel()
	meter := &dynamostore.Meter{}
	now := time.Now().UTC().Truncate(time.Millisecond)
	s := newStore(t, dynamostore.Options{Meter: meter, Now: func() time.Time { return now }})
	c := store.For(s, id.New())
	body := func(size int) json.RawMessage { return json.RawMessage(`{"text":"` + strings.Repeat("x", size) + `"}`) }
	noise := make([]byte, 8850) // as base64 it packs to its own size again
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	large := json.RawMessage(`{"text":"` + base64.StdEncoding.EncodeToString(noise) + `"}`)
	seed := []store.Op{
		c.Create("SMALL", "note", body(500)), c.Create("LARGE", "note", large), c.Create("OLD", "note", body(500)).Until(now.Add(-time.Minute)),
	}
	for i := range 40 {
		seed = append(seed, c.Create(fmt.Sprintf("LIST#%02d", i), "note", body(500)))
	}
	for i := range 10 {
		seed = append(seed, c.Create(fmt.Sprintf("SPENT#%02d", i), "note", body(500)).Until(now.Add(-time.Minute)))
	}
	timer := c.Timer(now, "remind", "SMALL")
	if err := c.Commit(t.Context(), append(seed, timer)...); err != nil {
		t.Fatal(err)
	}
	meter.Take()

	get := func(key string) func(context.Context) error {
		return func(ctx context.Context) error { _, err := c.Get(ctx, key, nil); return err }
	}
	query := func(q store.Query) func(context.Context) error {
		return func(ctx context.Context) error { _, err := c.Query(ctx, q); return err }
	}
	many := func(ctx context.Context) error {
		var keys []string
		for i := range 100 {
			keys = append(keys, fmt.Sprintf("LIST#%02d", i))
		}
		_, err := c.Ahead(ctx, keys...)
		return err
	}
	commit := func(ops ...store.Op) func(context.Context) error {
		return func(ctx context.Context) error { return s.Commit(ctx, ops...) }
	}
	tests := []struct {
		name string
		run  func(context.Context) error
		want dynamostore.Usage
	}{
		{"get an item of 0.5 KB", get("SMALL"), dynamostore.Usage{Trips: 1, Read: 1}},
		{"get an item of 9 KB", get("LARGE"), dynamostore.Usage{Trips: 1, Read: 3}},
		{"get a missing item", get("NOTHING"), dynamostore.Usage{Trips: 1, Read: 1}},
		{"get an expired item", get("OLD"), dynamostore.Usage{Trips: 1, Read: 1}},
		{"get 100 items of 0.5 KB, of which 60 are missing", many, dynamostore.Usage{Trips: 1, Read: 100}},
		{"query 20 of 40 items of 0.5 KB", query(store.Query{Prefix: "LIST#", Limit: 20}), dynamostore.Usage{Trips: 1, Read: 4}},
		{"query all 40", query(store.Query{Prefix: "LIST#"}), dynamostore.Usage{Trips: 1, Read: 6}},
		{"query the newest", query(store.Query{Prefix: "LIST#", Limit: 1, Desc: true}), dynamostore.Usage{Trips: 1, Read: 1}},
		{"query nothing", query(store.Query{Prefix: "NOTHING#"}), dynamostore.Usage{Trips: 1, Read: 1}},
		{"query 2 among 10 expired items", query(store.Query{Prefix: "SPENT#", Limit: 2}), dynamostore.Usage{Trips: 2, Read: 3}},
		{"query an impossible range", query(store.Query{Prefix: "A", To: "0"}), dynamostore.Usage{}},
		{"create an item of 0.5 KB", commit(c.Create("A", "note", body(500))), dynamostore.Usage{Trips: 1, Write: 1}},
		{"create over an expired item", commit(c.Create("OLD", "note", body(500))), dynamostore.Usage{Trips: 1, Write: 1}},
		{"create an existing item", commit(c.Create("A", "note", body(500))), dynamostore.Usage{Trips: 1}},
		{"replace an item of 0.5 KB", commit(c.Replace("A", "note", 1, body(500))), dynamostore.Usage{Trips: 1, Write: 1}},
		{"replace 9 KB by 0.5 KB", commit(c.Replace("LARGE", "note", 1, body(500))), dynamostore.Usage{Trips: 1, Write: 9}},
		{"replace at a wrong version", commit(c.Replace("A", "note", 9, body(500))), dynamostore.Usage{Trips: 1}},
		{"delete an item of 0.5 KB", commit(c.Delete("A", "note", 2)), dynamostore.Usage{Trips: 1, Write: 1}},
		{"delete a timer", commit(c.Fired(timer.Partition, store.Item{Key: timer.Key, Version: 1})), dynamostore.Usage{Trips: 1, Write: 1}},
		{"check an item", commit(c.Unchanged("SMALL", 1)), dynamostore.Usage{Trips: 1, Write: 2}},
		{"a transaction of 4 items of 0.5 KB", commit(
			c.Create("T1", "note", body(500)), c.Create("T2", "note", body(500)), c.Replace("SMALL", "note", 1, body(500)), c.Delete("LARGE", "note", 2),
		), dynamostore.Usage{Trips: 1, Write: 8}},
		{"a refused transaction", commit(c.Create("T3", "note", body(500)), c.Create("T1", "note", body(500))), dynamostore.Usage{Trips: 1}},
	}
	for _, tt := range tests {
		err := tt.run(t.Context())
		got := meter.Take()
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s%v", tt.name, diff, err)
		}
		t.Logf("%-36s %d trips, %g read, %g written", tt.name, got.Trips, got.Read, got.Write)
	}
}
