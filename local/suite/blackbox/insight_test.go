package blackbox_test

import (
	"bytes"
	"net/http"
	"slices"
	"time"
)

// insight reads what is computed about a company, when it is new and when it has data.
func insight(j *journey) {
	j.login()
	j.calm("a new company")
	j.overview("new: ")
	r := j.endpoint("webhook", "hook", "memory.*", "goal.*")
	j.peek(post(j.at("/integrations/feed"), object{"url": j.serve("news", &newsServer{entries: 2})}))
	j.certify("feed")
	j.peek(post(j.at("/memory/sync/feed"), nil))
	j.ended("synced")
	j.deliver(r.secret, "m-1", ticket(1, "Printer on fire"))
	j.deliver(r.secret, "g-1", []byte(`{"type":"goal.update","data":{"externalId":"q3","title":"Ship","progress":0.4,"state":"open"}}`))
	j.deliver(r.secret, "g-2", []byte(`{"type":"goal.update","data":{"externalId":"q3","title":"Ship","progress":0.5,"state":"open","startedAt":"2020-01-01T00:00:00Z","dueAt":"2020-12-31T00:00:00Z"}}`))
	j.deliver(r.secret, "n-1", []byte(`{"type":"timeline.note","data":{"title":"Moved office"}}`))
	j.received("its events", r, 2+1+1+2+1, false)
	j.peek(post(j.at("/integrations/webhook-off"), object{"url": r.url, "events": []string{"goal.*"}}))
	j.peek(post(j.at("/integrations/webhook-off/disable"), nil))
	j.calm("after a busy day")
	j.overview("busy: ")

	timeline := j.at("/mission-control/timeline")
	three := get(timeline + "?limit=3")
	j.do("the next three", j.follow(three, next(j.do("three entries a page", three))))
	j.do("certifications", get(timeline+"?kind=integration.certified"))
	j.do("the last hour", get(timeline+"?limit=1&since="+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)))
	j.do("until an hour ago", get(timeline+"?until="+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)))
	j.do("urgent recommendations", get(j.at("/intelligence/recommendations?priority=P1")))
	j.do("dismissed recommendations", get(j.at("/intelligence/recommendations?state=dismissed")))
	j.do("a recommendation a page", get(j.at("/intelligence/recommendations?limit=1")))
	j.do("a brief of a year", get(j.at("/intelligence/brief?since=2026-01-01T00:00:00Z")))
}

// leadsSomewhere requests every href of an answer. Some take another method, and some name what does not exist yet; but the API
// must know the path.
func (j *journey) leadsSomewhere(asked request, a answer) {
	j.t.Helper()
	references := hrefs(decode[any](a.body))
	slices.Sort(references)
	for _, href := range slices.Compact(references) {
		got := j.peek(j.follow(asked, href))
		if got.status >= http.StatusInternalServerError {
			j.t.Errorf("%s: %s, want a status below 500", href, got)
		}
		if bytes.Contains(got.body, []byte("no such path")) {
			j.t.Errorf("%s: %s, want a path of the API", href, got)
		}
	}
}

// overview requests everything that is computed from the context, and again with the tag, which is answered 304.
func (j *journey) overview(of string) {
	j.t.Helper()
	for _, path := range []string{
		"/mission-control/health", "/mission-control/readiness", "/mission-control/dashboard", "/mission-control/timeline",
		"/intelligence/brief", "/intelligence/recommendations",
	} {
		j.leadsSomewhere(get(j.at(path)), j.do(of+path, get(j.at(path))))
		j.unchanged(of+path+" is unchanged", path)
	}
}

// unchanged requests a path with the tag of the answer just before. The tag holds the minute; if the minute ends between the
// two requests, it tries again.
func (j *journey) unchanged(name, path string) {
	j.t.Helper()
	var again request
	var got answer
	j.await(name, get(j.at(path)), func(a answer) bool {
		again = get(j.at(path)).with("If-None-Match", a.header.Get("Etag"))
		got = j.peek(again)
		return got.status == http.StatusNotModified
	})
	j.mask.alias(again.header["If-None-Match"], "etag")
	j.check(j.stepOf(name, again, got))
}
