package assessment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// save stores a context with one timeline entry of this title.
func save(t testing.TB, c store.Company, version int64, title string) projection.Context {
	t.Helper()
	p := projection.Empty(c.ID())
	p.ContextVersion = version + 1
	p.Timeline = []timeline.Entry{{ID: "e", At: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), Kind: timeline.Note, Title: title}}
	errtest.Must(t, c.Commit(t.Context(), projection.Save(c, version, p)))
	return p
}

func TestReader_Read(t *testing.T) {
	t.Parallel()
	s, now := webtest.OpenStore(t), time.Date(2026, 5, 1, 12, 30, 45, 0, time.UTC)
	r := assessment.NewReader(func() time.Time { return now })
	read := func(c store.Company, want projection.Context) {
		t.Helper()
		asOf := now.Truncate(time.Minute)
		for range 2 { // decoded, then cached
			got, err := r.Read(t.Context(), c)
			errtest.Must(t, err)
			if diff := cmp.Diff(assessment.Facts{Context: want, AsOf: asOf, Tag: assessment.Tag(want.ContextVersion, asOf)}, got); diff != "" {
				t.Errorf("facts differ (-want +got):\n%s", diff)
			}
		}
	}
	a, b := store.For(s, "a"), store.For(s, "b")
	read(a, projection.Empty("a"))
	read(a, save(t, a, 0, "first"))
	atB := save(t, b, 0, "another company's")
	read(b, atB)
	large := strings.Repeat("x", 200<<10)
	for version := int64(1); version < 20; version++ { // more than the cache holds
		read(a, save(t, a, version, large))
	}
	now = now.Add(time.Minute)
	read(b, atB)
}

func TestReader_Read_Errors(t *testing.T) {
	t.Parallel()
	c := store.For(webtest.OpenStore(t), "a")
	errtest.Must(t, c.Commit(t.Context(), c.Create(projection.Key, projection.Entity, map[string]string{"contextVersion": "x"})))
	if _, err := assessment.NewReader(time.Now).Read(t.Context(), c); err == nil {
		t.Error("Read gave no error for a malformed context")
	}
}

func BenchmarkReader_Read(b *testing.B) {
	c := store.For(webtest.OpenStore(b), "a")
	save(b, c, 0, "title")
	r := assessment.NewReader(time.Now)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Read(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
