package export_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/export"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// entities finds the names of entities in the code.
var entities = regexp.MustCompile(`(?i)[a-z]*entity\s*=\s*"([a-z-]+)"`)

// TestKinds_Complete checks that each entity in the code is in the list, so that an export leaves nothing out by mistake.
func TestKinds_Complete(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, k := range export.Kinds() {
		if listed[k.Entity] {
			t.Errorf("%s is listed twice, want once", k.Entity)
		}
		listed[k.Entity] = true
	}
	found := 0
	for _, folder := range []string{"../../../shared", "../../../functions"} {
		errtest.Must(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range entities.FindAllSubmatch(content, -1) {
				found++
				name := string(match[1])
				if name != "entity" && !listed[name] { // the name of an attribute in DynamoDB
					t.Errorf("%s: the entity %q is not in Kinds; add it, with the reason if it is not exported", path, name)
				}
			}
			return err
		}))
	}
	if found < 20 {
		t.Errorf("%d entities were found in the code, want at least 20", found)
	}
}

// TestPage exports every kind once, without the items of secrets, over as many pages as it takes.
func TestPage(t *testing.T) {
	t.Parallel()
	st := webtest.OpenStore(t)
	c, other := store.For(st, id.New()), store.For(st, id.New())
	var want []string
	put := func(key, entity string, body any) {
		errtest.Must(t, c.Commit(t.Context(), c.Create(key, entity, body)))
	}
	large := strings.Repeat("x", 300<<10)
	for n := range 14 {
		key := fmt.Sprintf("A#%02d", n)
		put(key, "memory", map[string]string{"body": large})
		want = append(want, key)
	}
	for _, k := range export.Kinds() {
		key := "KIND#" + k.Entity
		put(key, k.Entity, map[string]string{"secret": "planted-" + k.Entity})
		if k.Not == "" {
			want = append(want, key)
		}
	}
	put("X#unknown", "unheard-of", map[string]string{"secret": "planted-unknown"})
	errtest.Must(t, other.Commit(t.Context(), other.Create("A#other", "memory", map[string]string{})))

	var got []string
	var ends []export.PageEnd
	pages := 0
	for after := ""; ; pages++ {
		lines, next, err := export.Page(t.Context(), c, after)
		errtest.Must(t, err)
		if most := export.MaxBytes + store.MaxBody + 1024; len(lines) > most {
			t.Errorf("a page has %d bytes, want %d at most", len(lines), most)
		}
		for _, text := range bytes.Split(bytes.TrimSpace(lines), []byte("\n")) {
			var line export.Line
			errtest.Must(t, json.Unmarshal(text, &line))
			if line.Key == "" {
				ends = append(ends, pageEnd(t, text))
				continue
			}
			got = append(got, line.Key)
		}
		for _, k := range export.Kinds() {
			if k.Not != "" && bytes.Contains(lines, []byte(`"planted-`+k.Entity+`"`)) {
				t.Errorf("the export has the item of %s, want none: it %s", k.Entity, k.Not)
			}
		}
		if after = next; after == "" {
			break
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
		t.Errorf("keys differ (-want +got):\n%s", diff)
	}
	after, items := "", 0
	for n, end := range ends {
		if end.After != after {
			t.Errorf("page %d begins after %q, want after %q", n, end.After, after)
		}
		after, items = end.Next, items+end.Items
	}
	if after != "" {
		t.Errorf("the last page continues after %q, want no next page", after)
	}
	if items != len(want) {
		t.Errorf("the pages count %d items, want %d", items, len(want))
	}
	if pages < 1 {
		t.Errorf("%d further pages, want at least 1", pages)
	}
}

func pageEnd(t *testing.T, line []byte) export.PageEnd {
	t.Helper()
	var trailer export.Trailer
	errtest.Must(t, json.Unmarshal(line, &trailer))
	return trailer.Page
}

// TestPage_Line exports an item as it is stored.
func TestPage_Line(t *testing.T) {
	t.Parallel()
	c := store.For(webtest.OpenStore(t), id.New())
	errtest.Must(t, c.Commit(t.Context(), c.Create("GOAL#1", "goal", json.RawMessage(`{"title":"<&>"}`))))
	item, err := c.Get(t.Context(), "GOAL#1", nil)
	errtest.Must(t, err)
	lines, next, err := export.Page(t.Context(), c, "")
	errtest.Must(t, err)
	if next != "" {
		t.Errorf("next is %q, want none", next)
	}
	var got export.Line
	first, last, _ := bytes.Cut(lines, []byte("\n"))
	errtest.Must(t, json.Unmarshal(first, &got))
	sum := sha256.Sum256(append(first, '\n'))
	if diff := cmp.Diff(export.PageEnd{Items: 1, SHA256: hex.EncodeToString(sum[:])}, pageEnd(t, last)); diff != "" {
		t.Errorf("end of the page differs (-want +got):\n%s", diff)
	}
	want := export.Line{Entity: "goal", Key: "GOAL#1", Version: 1, At: item.At, Body: item.Body}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("line differs (-want +got):\n%s", diff)
	}
}
