package blackbox_test

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
)

// newsServer serves an RSS feed that can change. It answers 304 when the feed has not changed.
type newsServer struct {
	mu      sync.Mutex
	entries int
	status  int           // 0: 200
	gate    chan struct{} // if not nil, an answer waits until it is closed
}

func (s *newsServer) set(entries, status int, gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries, s.status, s.gate = entries, status, gate
}

// ServeHTTP implements http.Handler.
func (s *newsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	entries, status, gate := s.entries, s.status, s.gate
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	}
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	tag := fmt.Sprintf(`"%d"`, entries)
	if w.Header().Set("ETag", tag); r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
	fmt.Fprint(w, `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>https://example.com/</link><description>All of it</description>`)
	for i := range entries {
		fmt.Fprintf(w, `<item><guid isPermaLink="false">news-%d</guid><title>News %d</title><link>https://example.com/%d</link>`+
			`<description>&lt;p&gt;Text &amp;amp; more&lt;/p&gt;</description><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate></item>`, i, i, i)
	}
	fmt.Fprint(w, `</channel></rss>`)
}

// feed syncs a source. In the sandbox a sync stores nothing; once the source is certified, each entry becomes a memory once. It
// also covers dry runs, overlapping runs, cancelling, and a source that fails.
func feed(j *journey) {
	j.login()
	r := j.endpoint("webhook", "hook", "memory.*", "integration.*")
	news := &newsServer{entries: 3}
	at, syncs, sync := j.at("/integrations/feed"), j.at("/memory/syncs"), j.at("/memory/sync/feed")
	j.do("not configured", post(sync, nil))
	j.do("it cannot be fetched", post(j.at("/memory/sync/webhook"), nil))
	j.do("configure", post(at, object{"url": j.serve("news", news)}))
	j.do("a look", post(sync, nil))
	j.ended("the look shows what there is")
	j.do("nothing is remembered", get(j.at("/memory")))
	j.do("certify", post(at+"/certification", nil))
	j.calm("it is certified")

	requested := j.do("sync", post(sync, nil).with("Idempotency-Key", "k-1"))
	location := requested.header.Get("Location")
	j.do("the same request again", post(sync, nil).with("Idempotency-Key", "k-1"))
	j.do("another request under its key", post(sync, object{"mode": "full"}).with("Idempotency-Key", "k-1"))
	j.do("a key that is none", post(sync, nil).with("Idempotency-Key", " "))
	run := j.ended("it has succeeded")
	j.do("where it said it would be", j.follow(post(sync, nil), location))
	j.received("its events", r, 3+2, false)
	j.memories()

	j.do("sync again", post(sync, object{"mode": "incremental"}))
	j.ended("nothing has changed")
	news.set(4, 0, nil)
	j.do("sync what is new", post(sync, object{"mode": "full"}))
	j.ended("one is new")
	j.received("its events and those before", r, 1+2+2, false)
	j.calm("all is folded in")
	j.do("the integration", get(at))

	gate := make(chan struct{})
	news.set(4, 0, gate)
	j.do("a sync that takes long", post(sync, object{"mode": "full"}))
	j.do("another meanwhile", post(sync, nil))
	close(gate)
	j.ended("the long one ends")
	j.received("its events", r, 2, false)
	j.do("too late to cancel", post(syncs+"/"+run+"/cancel", nil))
	j.do("a dry run", post(sync, object{"mode": "full", "dryRun": true}))
	j.ended("shows what there is")
	news.set(0, http.StatusNotFound, nil)
	j.do("a feed that is not there", post(sync, object{"mode": "full"}))
	running := j.settle("it is tried again", get(syncs+"?limit=1"), func(a answer) bool { return bytes.Contains(a.body, []byte(`"error"`)) })
	run = decode[struct{ Items []struct{ ID string } }](running.body).Items[0].ID
	j.do("until it is cancelled", post(syncs+"/"+run+"/cancel", nil))
	j.ended("it is")
	j.received("which is told of", r, 1, false)
	j.calm("all runs have ended")
	j.do("all runs", get(syncs))
	j.do("those that succeeded", get(syncs+"?state=succeeded&limit=2"))
}

// ended waits for the newest run to end, and returns its id.
func (j *journey) ended(name string) string {
	j.t.Helper()
	type run struct{ ID, State string }
	a := j.settle(name, get(j.at("/memory/syncs?limit=1")), func(a answer) bool {
		page := decode[struct{ Items []run }](a.body)
		return len(page.Items) == 1 && page.Items[0].State != "requested" && page.Items[0].State != "running"
	})
	return decode[struct{ Items []run }](a.body).Items[0].ID
}

// memories lists the memories, by page and by filter.
func (j *journey) memories() {
	list := j.at("/memory")
	all := j.do("all memories", get(list))
	j.do("by provider and kind", get(list+"?provider=feed&kind=entry"))
	j.do("of another provider", get(list+"?provider=github"))
	j.paged("two a page", list, 2)
	if id := firstNamed(all); id != "" {
		j.do("a memory", get(list+"/"+id))
		j.do("a memory for which it is no goal", get(j.at("/goals/"+id)))
	}
}
