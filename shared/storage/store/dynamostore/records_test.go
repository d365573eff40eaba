package dynamostore_test

import (
	"errors"
	"fmt"
	"testing"

	"orgops/shared/storage/store/dynamostore"
)

// TestStore_Records reads a range of a shard, in a stream whose older records are gone.
func TestStore_Records(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	for n := range 600 {
		st.write("one", "acme", fmt.Sprint("A", n+1))
	}
	number := func(n int) string { return fmt.Sprintf("%021d", n) }
	read := func(shard string, first, last int) (keys []string, err error) {
		err = s.Records(t.Context(), "stream", shard, number(first), number(last), func(r dynamostore.Record) error {
			keys = append(keys, r.New["sk"])
			return nil
		})
		return keys, err
	}
	for _, tt := range []struct{ first, last, want int }{{1, 1, 1}, {2, 4, 3}, {1, 600, 600}, {300, 600, 301}} {
		keys, err := read("one", tt.first, tt.last)
		if err != nil {
			t.Errorf("records %d to %d: %v", tt.first, tt.last, err)
		}
		if len(keys) != tt.want {
			t.Fatalf("records %d to %d: %d, want %d", tt.first, tt.last, len(keys), tt.want)
		}
		want := []string{fmt.Sprint("A", tt.first), fmt.Sprint("A", tt.last)}
		expect(t, fmt.Sprintf("first and last of %d to %d", tt.first, tt.last), want, []string{keys[0], keys[len(keys)-1]})
	}
	failure := errors.New("no")
	err := s.Records(t.Context(), "stream", "one", number(1), number(3), func(dynamostore.Record) error { return failure })
	if !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	st.change("one", func(sh *testShard) { sh.trimmed = 10 })
	if _, err := read("one", 5, 12); !errors.Is(err, dynamostore.ErrTrimmed) {
		t.Errorf("a range that begins before the oldest record: error %v, want %v", err, dynamostore.ErrTrimmed)
	}
	if _, err := read("two", 1, 1); !errors.Is(err, dynamostore.ErrGone) {
		t.Errorf("a shard that is gone: error %v, want %v", err, dynamostore.ErrGone)
	}
}
