package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/storage/store"
)

func keys(items []store.Item) []string {
	out := []string{}
	for _, item := range items {
		out = append(out, item.Key)
	}
	return out
}

// pages returns the items of all pages of a query.
func (f *fixture) pages(t *testing.T, q store.Query) []store.Item {
	t.Helper()
	var all []store.Item
	first, items := q, []store.Item{}
	for item, err := range f.c.Items(t.Context(), q) {
		if err != nil {
			t.Fatalf("items of %+v: %v", q, err)
		}
		items = append(items, item)
	}
	for range 1000 {
		page, err := f.c.Query(t.Context(), q)
		if err != nil {
			t.Fatalf("query %+v: %v", q, err)
		}
		if q.Limit > 0 && len(page.Items) > q.Limit {
			t.Fatalf("query %+v: %d items, want at most %d", q, len(page.Items), q.Limit)
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			if !slices.Equal(keys(items), keys(all)) {
				t.Fatalf("Items of %+v yields %v, want %v", first, keys(items), keys(all))
			}
			return all
		}
		q.After = page.Next
	}
	t.Fatalf("query %+v does not end", q)
	return nil
}

func testQuery(t *testing.T, h Harness) {
	f := open(t, h)
	stored := []string{"A", "A#", "A#1", "A#1~", "A#2", "A#~", "A#~~", "A#é", "A#日本", "A#😀", "A$", "B#1", "~", "é"}
	for i, key := range stored {
		f.commit(t, f.c.Create(key, "note", note{N: i + 1}))
	}
	if !slices.IsSorted(stored) {
		t.Fatal("the test's keys are not sorted")
	}
	tests := []struct {
		name string
		q    store.Query
		want []string
	}{
		{"everything", store.Query{}, stored},
		{"a prefix", store.Query{Prefix: "A#"}, []string{"A#", "A#1", "A#1~", "A#2", "A#~", "A#~~", "A#é", "A#日本", "A#😀"}},
		{"a prefix that is a key", store.Query{Prefix: "A#1"}, []string{"A#1", "A#1~"}},
		{"a prefix that ends in ~", store.Query{Prefix: "A#~"}, []string{"A#~", "A#~~"}},
		{"a prefix beyond ASCII", store.Query{Prefix: "A#日"}, []string{"A#日本"}},
		{"the greatest prefix", store.Query{Prefix: "A#😀"}, []string{"A#😀"}},
		{"no such prefix", store.Query{Prefix: "A%"}, nil},
		{"from", store.Query{From: "A#日本"}, []string{"A#日本", "A#😀", "A$", "B#1", "~", "é"}},
		{"from between keys", store.Query{Prefix: "A#", From: "A#~~~"}, []string{"A#é", "A#日本", "A#😀"}},
		{"from before the prefix", store.Query{Prefix: "B#", From: "A#1"}, []string{"B#1"}},
		{"from after the prefix", store.Query{Prefix: "A#", From: "B"}, nil},
		{"to", store.Query{To: "A#1"}, []string{"A", "A#", "A#1"}},
		{"to between keys", store.Query{Prefix: "A#", To: "A#1z"}, []string{"A#", "A#1"}},
		{"to after the prefix", store.Query{Prefix: "A#1", To: "Z"}, []string{"A#1", "A#1~"}},
		{"to before the prefix", store.Query{Prefix: "B#", To: "A"}, nil},
		{"from and to", store.Query{Prefix: "A#", From: "A#1", To: "A#2"}, []string{"A#1", "A#1~", "A#2"}},
		{"one key", store.Query{From: "A#2", To: "A#2"}, []string{"A#2"}},
		{"from after to", store.Query{From: "B", To: "A"}, nil},
	}
	for _, tt := range tests {
		want := append([]string{}, tt.want...)
		if diff := cmp.Diff(want, keys(f.pages(t, tt.q))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		slices.Reverse(want)
		q := tt.q
		q.Desc = true
		if diff := cmp.Diff(want, keys(f.pages(t, q))); diff != "" {
			t.Errorf("%s, descending (-want +got):\n%s", tt.name, diff)
		}
		q.Limit = 2
		if diff := cmp.Diff(want, keys(f.pages(t, q))); diff != "" {
			t.Errorf("%s, descending by two (-want +got):\n%s", tt.name, diff)
		}
	}
	item := f.pages(t, store.Query{From: "B#1", To: "B#1"})[0]
	if diff := cmp.Diff(f.get(t, "B#1", 1, 12), item); diff != "" {
		t.Errorf("item of a query (-get +query):\n%s", diff)
	}
}

func testQueryPages(t *testing.T, h Harness) {
	f := open(t, h)
	var ops []store.Op
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("N#%02d", i)
		want = append(want, key)
		ops = append(ops, f.c.Create(key, "note", note{N: i}))
	}
	f.commit(t, append(ops, f.c.Create("M", "note", note{}), f.c.Create("O", "note", note{}))...)
	for _, desc := range []bool{false, true} {
		for _, limit := range []int{0, 1, 7, 25, 26, store.MaxPage + 1} {
			got := keys(f.pages(t, store.Query{Prefix: "N#", Desc: desc, Limit: limit}))
			if desc {
				slices.Reverse(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("limit %d, descending %v (-want +got):\n%s", limit, desc, diff)
			}
		}
	}
	// After may be a key that is not stored, or lies outside the range.
	after := []struct {
		q    store.Query
		want []string
	}{
		{store.Query{Prefix: "N#", After: "N#22x"}, []string{"N#23", "N#24"}},
		{store.Query{Prefix: "N#", After: "N#01x", Desc: true}, []string{"N#01", "N#00"}},
		{store.Query{Prefix: "N#", After: "N#24"}, []string{}},
		{store.Query{Prefix: "N#", After: "N#00", Desc: true}, []string{}},
		{store.Query{Prefix: "N#", After: "A", To: "N#00"}, []string{"N#00"}},
		{store.Query{Prefix: "N#", After: "Z", From: "N#24", Desc: true}, []string{"N#24"}},
	}
	for _, tt := range after {
		if diff := cmp.Diff(tt.want, keys(f.pages(t, tt.q))); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.q, diff)
		}
	}
}

// testQueryLarge queries more bytes than a driver must return in one page.
func testQueryLarge(t *testing.T, h Harness) {
	f := open(t, h)
	body := json.RawMessage(`{"text":"` + strings.Repeat("x", 300<<10) + `"}`)
	brief := func(key string, body []byte) string { return fmt.Sprintf("%s with %d bytes", key, len(body)) }
	var want, got []string
	for i := range 12 {
		key := fmt.Sprintf("N#%02d", i)
		f.commit(t, f.c.Create(key, "note", body))
		want = append(want, brief(key, body))
	}
	for _, item := range f.pages(t, store.Query{Prefix: "N#"}) {
		got = append(got, brief(item.Key, item.Body))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}
