package webfeed

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

// What one document of maxDocument bytes may take: every byte that is allocated for it, freed or not, and the time.
const (
	mostMemory = 64 << 20
	mostTime   = 2 * time.Second
)

// allocated returns how many bytes work allocates. Nothing else may run at the same time.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestPage_Memory reads every hostile document in its full size. It counts what is allocated in total, so the peak is below
// that. It runs alone, because the count is the process's.
func TestPage_Memory(t *testing.T) { //nolint:paralleltest // see above
	for _, h := range hostiles() {
		t.Run(h.name, func(t *testing.T) { //nolint:paralleltest // see above
			document := h.document(maxDocument)
			if len(document) > maxDocument {
				t.Fatalf("the document has %d bytes, want at most %d", len(document), maxDocument)
			}
			var err error
			took := allocated(func() { _, err = page(document, Config{MaxItems: 1000}, source{}, state{}) }) + uint64(len(document))
			t.Logf("%.1f MiB, error %.100v", float64(took)/(1<<20), errtest.Message(err))
			if took > mostMemory {
				t.Errorf("%.1f MiB, want at most %d", float64(took)/(1<<20), mostMemory>>20)
			}
			if got, most := len(errtest.Message(err)), 500; got > most {
				t.Errorf("the error has %d bytes, want at most %d", got, most)
			}
			if got := errtest.Message(err); h.want == "" && got != "" {
				t.Errorf("err = %v, want none", got)
			} else if !strings.Contains(got, h.want) {
				t.Errorf("err = %v, want one with %q", got, h.want)
			}
		})
	}
}

// TestConnector_Fetch_Memory counts what a fetch allocates, with the body and what the server allocates.
func TestConnector_Fetch_Memory(t *testing.T) { //nolint:paralleltest // as above
	for _, h := range hostiles() {
		if h.name != "items with ampersands" && h.name != "JSON items" {
			continue
		}
		document := h.document(maxDocument)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			errtest.Must(t, http.NewResponseController(w).Flush()) // the length is not announced
			_, _ = w.Write(document)
		}))
		c := New(outbound.New(outbound.Options{AllowLoopback: true}), time.Now)
		config := fmt.Appendf(nil, `{"url":%q,"maxItems":1000}`, server.URL)
		var err error
		took := allocated(func() { _, err = c.Fetch(t.Context(), connector.Fetch{Config: config}) })
		server.Close()
		errtest.Must(t, err)
		t.Logf("%s: %.1f MiB", h.name, float64(took)/(1<<20))
		if took > mostMemory {
			t.Errorf("%s: %.1f MiB, want at most %d", h.name, float64(took)/(1<<20), mostMemory>>20)
		}
	}
}

// BenchmarkPage_Hostile fails if a document takes longer than mostTime.
func BenchmarkPage_Hostile(b *testing.B) {
	for _, h := range hostiles() {
		b.Run(strings.ReplaceAll(h.name, " ", "-"), func(b *testing.B) {
			document := h.document(maxDocument)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = page(document, Config{MaxItems: 1000}, source{}, state{})
			}
			if each := b.Elapsed() / time.Duration(b.N); each > mostTime {
				b.Errorf("%v, want at most %v", each, mostTime)
			}
		})
	}
}
