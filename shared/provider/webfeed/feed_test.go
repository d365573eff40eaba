package webfeed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/webfeed"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

var (
	now                   = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	_   connector.Source  = (*webfeed.Connector)(nil)
	_   connector.Checker = (*webfeed.Connector)(nil)
)

func fetch(t *testing.T, h http.HandlerFunc, f connector.Fetch, maxItems int) (connector.FetchedPage, error) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	f.Config = fmt.Appendf(nil, `{"url":"%s/feed","maxItems":%d}`, server.URL, maxItems)
	c := webfeed.New(outbound.New(outbound.Options{AllowLoopback: true}), func() time.Time { return now })
	return c.Fetch(t.Context(), f)
}

func serve(document string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(document)) }
}

const (
	rss = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title><link>https://example.com/</link>
<item><guid>tag:1</guid><title>First &amp;amp; best</title><link>https://example.com/1</link><description>&lt;p&gt;Hello &lt;b&gt;world&lt;/b&gt;&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;</description></item>
<item><link>https://example.com/2</link><description>Only a description</description><content:encoded><![CDATA[<p>One</p><p>Two</p>]]></content:encoded></item>
<item><title>No id</title></item>
</channel></rss>`
	atom = `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>urn:x</id><updated>2026-05-01T00:00:00Z</updated>
<entry><id>tag:1</id><title>First &amp; best</title><link href="https://example.com/1"/><content type="html">&lt;p&gt;Hello &lt;b&gt;world&lt;/b&gt;&lt;/p&gt;</content></entry>
<entry><id>https://example.com/2</id><title type="html">&lt;i&gt;Second&lt;/i&gt;</title><link href="https://example.com/2"/><summary>Short</summary></entry>
<entry><title>No id</title></entry>
</feed>`
	jsonFeed = `{"version":"https://jsonfeed.org/version/1.1","title":"News","items":[
{"id":"tag:1","title":"First & best","url":"https://example.com/1","content_html":"<p>Hello <b>world</b></p>"},
{"id":"https://example.com/2","url":"https://example.com/2","content_text":"Second\nand more"},
{"title":"No id"}]}`
)

func TestConnector_Fetch_formats(t *testing.T) {
	t.Parallel()
	first := memory.Draft{ExternalID: "tag:1", Kind: "entry", Title: "First & best", Body: "Hello world", URL: "https://example.com/1"}
	second := memory.Draft{ExternalID: "https://example.com/2", Kind: "entry", URL: "https://example.com/2"}
	with := func(d memory.Draft, title, body string) memory.Draft {
		d.Title, d.Body = title, body
		return d
	}
	third := memory.Draft{ExternalID: "urn:uuid:23ed7f5d-f282-8de5-9e74-694069e98dce", Kind: "entry", Title: "No id"}
	tests := []struct {
		name, document string
		want           []memory.Draft
	}{
		{"RSS", rss, []memory.Draft{first, with(second, "One", "One\nTwo"), third}},
		{"Atom", atom, []memory.Draft{first, with(second, "Second", "Short"), third}},
		{"JSON Feed", jsonFeed, []memory.Draft{first, with(second, "Second", "Second\nand more"), third}},
		{"byte order mark", "\uFEFF\n" + jsonFeed, []memory.Draft{first, with(second, "Second", "Second\nand more"), third}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page, err := fetch(t, serve(tt.document), connector.Fetch{}, 0)
			errtest.Must(t, err)
			if diff := cmp.Diff(tt.want, valid(t, page)); diff != "" {
				t.Errorf("drafts differ (-want +got):\n%s", diff)
			}
			if page.Checkpoint != nil {
				t.Errorf("checkpoint = %s, want nil", page.Checkpoint)
			}
		})
	}
	page, err := fetch(t, serve(rss), connector.Fetch{}, 1)
	errtest.Must(t, err)
	if got := len(page.Memories); got != 1 {
		t.Errorf("maxItems 1: %d entries, want 1", got)
	}
}

func TestConnector_Fetch_validators(t *testing.T) {
	t.Parallel()
	const tag, date = `"v1"`, "Fri, 01 May 2026 10:00:00 GMT"
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		w.Header().Set("Last-Modified", date)
		if r.Header.Get("If-None-Match") == tag && r.Header.Get("If-Modified-Since") == date {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(rss))
	}
	read := func(f connector.Fetch, want int) json.RawMessage {
		t.Helper()
		page, err := fetch(t, h, f, 0)
		errtest.Must(t, err)
		if got := len(page.Memories); got != want {
			t.Fatalf("%d entries, want %d", got, want)
		}
		return page.State
	}
	state := read(connector.Fetch{}, 3)
	if again := read(connector.Fetch{State: state}, 0); string(again) != string(state) {
		t.Errorf("state of an unchanged feed = %s, want %s", again, state)
	}
	read(connector.Fetch{State: state, Full: true}, 3)
}

func TestConnector_Fetch_throttled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status     int
		retryAfter string
		want       time.Duration
	}{
		{429, "120", 2 * time.Minute},
		{429, "", 5 * time.Minute},
		{503, "Fri, 01 May 2026 13:00:00 GMT", time.Hour},
		{503, "9999999", 24 * time.Hour},
	}
	for _, tt := range tests {
		_, err := fetch(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", tt.retryAfter)
			w.WriteHeader(tt.status)
		}, connector.Fetch{}, 0)
		var throttled *connector.ThrottledError
		if !errors.As(err, &throttled) {
			t.Fatalf("%d %q: err = %v, want a *connector.ThrottledError", tt.status, tt.retryAfter, err)
		}
		if want := now.Add(tt.want); !throttled.Until.Equal(want) {
			t.Errorf("%d %q: throttled until %v, want %v", tt.status, tt.retryAfter, throttled.Until, want)
		}
	}
}

func TestConnector_Fetch_refuses(t *testing.T) {
	t.Parallel()
	laughs := `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>`
	tests := []struct {
		name   string
		handle http.HandlerFunc
		want   string
	}{
		{"not found", http.NotFound, "answers 404 Not Found; check the url"},
		{"gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, "answers 410 Gone: it has ended for good"},
		{"a login", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "must be public"},
		{"unchanged since never", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, "did not ask for changes alone"},
		{"down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "answers 503"},
		{"redirect", http.RedirectHandler("/elsewhere", http.StatusMovedPermanently).ServeHTTP, "redirects are not followed"},
		{"web page", serve("<!doctype html><html><body>Hello</body></html>"), "this is a web page, not a feed; configure the url of its feed"},
		{"web page with a feed", serve(`<!-- a --><HTML><head><link rel="stylesheet" href="/x.css"><link type="text/html" rel="alternate" href="/de">` +
			`<link href='/feed.xml?a=1&amp;b=2' rel="alternate feed" type=application/rss+xml></head>`), "/feed.xml?a=1&b=2, so configure that url"},
		{"web page with unusual tags", serve("<?xml version='1.0'?>\n<!doctype\nHTML SYSTEM 'x'><link\nREL=Alternate\tTYPE = 'application/atom+xml; charset=utf-8' title='a > b' href = /atom>"),
			"/atom, so configure that url"},
		{"web page with other links", serve(`<html><linked rel="alternate" type="application/rss+xml" href="/1"><link rel="alternates" type="application/rss+xml" href="/2">` +
			`<link data-rel="alternate" type="application/rss+xml" href="/3"><link =rel= / href="/4" rel=alternate type>`), "configure the url of its feed"},
		{"web page cut in a tag", serve(`<html><link rel="alternate`), "configure the url of its feed"},
		{"other XML with a name like HTML", serve("<html-feed/>"), `XML with the root element "html-feed", not a feed`},
		{"web page with a script for a feed", serve(`<html><link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">`), "configure the url of its feed"},
		{"empty", serve(" \n"), "the answer is empty, not a feed"},
		{"other XML", serve("<?xml version='1.0'?><opml/>"), `XML with the root element "opml", not a feed`},
		{"text", serve("Hello"), "not a feed"},
		{"other JSON", serve(`{"items":1}`), "not a feed: it has no list named items"},
		{"broken JSON", serve(`{"a":`), "begins as JSON, but is not"},
		{"too large", serve("<rss>" + strings.Repeat(" ", 8<<20)), "larger than 8 MiB"},
		{"deep", serve(`<rss version="2.0"><channel><item>` + strings.Repeat("<a>", 500_000)), "nested too deep; the limit is 100"},
		{"deep in UTF-16", serve(`<?xml version="1.0" encoding="utf-16be"?><rss><channel>` + strings.Repeat("\x00<\x00a\x00>", 500_000)), "nested too deep"},
		{"deep JSON", serve(`{"items":[{"x":` + strings.Repeat("[", 1_000_000)), "nested too deep"},
		{"many elements", serve(`<rss version="2.0"><channel>` + strings.Repeat("<a/>", 200_000) + `</channel></rss>`), "too many elements"},
		{"many entries", serve(`<rss version="2.0"><channel>` + strings.Repeat("<Item/>", 20_000) + `</channel></rss>`), "too many entries"},
		{"long tag", serve(`<rss version="2.0"><channel ` + strings.Repeat(`a="" `, 100_000) + `></channel></rss>`), "too many attributes"},
		{"no items", serve(`{"error":"no such feed"}`), "not a feed"},
		{"unclosed tag", serve(`<rss version="2.0"><channel ` + strings.Repeat(`a="" `, 100_000)), "too many attributes"},
		{"many objects", serve(`{"version":"https://jsonfeed.org/version/1","items":[` + strings.Repeat("{},", 200_000) + `{}]}`), "too many entries"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := fetch(t, tt.handle, connector.Fetch{}, 0)
			if got := fault.KindOf(err); got != fault.Unavailable {
				t.Errorf("kind = %s, want %s", got, fault.Unavailable)
			}
			if got := errtest.Message(err); !strings.Contains(got, tt.want) {
				t.Errorf("error %q, want one with %q", got, tt.want)
			}
		})
	}
	page, err := fetch(t, serve(laughs+`<rss version="2.0"><channel><item><guid>1</guid><title>&b;&c;</title></item></channel></rss>`), connector.Fetch{}, 0)
	if err != nil {
		return // refusing the document is right too
	}
	if len(page.Memories) != 1 {
		t.Fatalf("drafts = %+v, want one", page.Memories)
	}
	for _, expanded := range []string{"lol", "root:"} {
		if title := page.Memories[0].Title; strings.Contains(title, expanded) {
			t.Errorf("title = %q, want entities that are not expanded to %q", title, expanded)
		}
	}
}

func TestConnector_Fetch_refusedAddress(t *testing.T) {
	t.Parallel()
	c := webfeed.New(outbound.New(outbound.Options{}), func() time.Time { return now })
	_, err := c.Fetch(t.Context(), connector.Fetch{Config: json.RawMessage(`{"url":"https://127.0.0.1/feed"}`)})
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("err = %v, want a *fault.Error", err)
	}
	if want := "the feed cannot be read: the host's address is not public"; f.Detail != want {
		t.Errorf("detail = %q, want %q", f.Detail, want)
	}
}

// An RSS document is decoded from the character set that it declares.
func TestConnector_Fetch_latin1(t *testing.T) {
	t.Parallel()
	document := "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><rss version=\"2.0\"><channel><item><guid>1</guid><title>Gr\xfc\xdfe</title></item></channel></rss>"
	if got, want := only(t, document).Title, "Grüße"; got != want {
		t.Errorf("title = %q, want %q", got, want)
	}
}

// only fetches a document and returns its only draft.
func only(t *testing.T, document string) memory.Draft {
	t.Helper()
	page, err := fetch(t, serve(document), connector.Fetch{}, 0)
	errtest.Must(t, err)
	if len(page.Memories) != 1 {
		t.Fatalf("drafts = %+v, want one", page.Memories)
	}
	return page.Memories[0]
}

// An RSS item's Dublin Core, iTunes and Atom elements fill in what its own elements leave out.
func TestConnector_Fetch_otherElements(t *testing.T) {
	t.Parallel()
	document := `<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"
xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
<item><guid>1</guid><dc:title>By Dublin Core</dc:title><dc:description>Its words</dc:description></item>
<item><guid>2</guid><title>An episode</title><itunes:summary>What is said</itunes:summary></item>
<item><guid>3</guid><title>Embedded</title><atom:summary>Short</atom:summary></item>
<item><guid>4</guid><title>Whole</title><atom:content>Long</atom:content><atom:summary>Short</atom:summary></item>
<item><guid>5</guid><title>Own</title><description>First</description><dc:title>Second</dc:title><dc:description>Second</dc:description></item>
</channel></rss>`
	want := []memory.Draft{
		{ExternalID: "1", Kind: "entry", Title: "By Dublin Core", Body: "Its words"},
		{ExternalID: "2", Kind: "entry", Title: "An episode", Body: "What is said"},
		{ExternalID: "3", Kind: "entry", Title: "Embedded", Body: "Short"},
		{ExternalID: "4", Kind: "entry", Title: "Whole", Body: "Long"},
		{ExternalID: "5", Kind: "entry", Title: "Own", Body: "First"},
	}
	page, err := fetch(t, serve(document), connector.Fetch{}, 0)
	errtest.Must(t, err)
	if diff := cmp.Diff(want, page.Memories); diff != "" {
		t.Errorf("drafts differ (-want +got):\n%s", diff)
	}
}

// What many feeds do wrong does no harm: control characters, an unescaped &, HTML's entities, an id that is a number, a field of
// another type.
func TestConnector_Fetch_tolerant(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, document string
		want           memory.Draft
	}{
		{"RSS", "\n\uFEFF<rss><channel><item><guid>1</guid><title>A\x0b & B\u00a0&nbsp;&eacute;</title>" +
			`<link href="https://example.com/1"/></item></channel></rss><!-- cached -->`,
			memory.Draft{ExternalID: "1", Kind: "entry", Title: "A & B é", URL: "https://example.com/1"}},
		{"JSON", `{"items":[{"id":7,"title":"Seven","image":{},"authors":"x"}]}`, memory.Draft{ExternalID: "7", Kind: "entry", Title: "Seven"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, only(t, tt.document)); diff != "" {
			t.Errorf("%s: draft differs (-want +got):\n%s", tt.name, diff)
		}
	}
}

// An entry's alternate link becomes its URL, in any position.
func TestConnector_Fetch_links(t *testing.T) {
	t.Parallel()
	document := `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title>One</title>
<link rel="self" href="https://example.com/1.xml"/><link rel="alternate" href="https://example.com/1"/><link href="https://example.com/2"/>
</entry></feed>`
	if got, want := only(t, document).URL, "https://example.com/1"; got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
}

// An entry without a title takes the first line of its body, cut to 200 characters. A title is kept as it is.
func TestConnector_Fetch_longBody(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	document := fmt.Sprintf(`{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","content_text":%q}]}`, long+"\nmore")
	if got, want := only(t, document).Title, strings.Repeat("é", 200)+"…"; got != want {
		t.Errorf("title = %q, want %q", got, want)
	}
	if got := only(t, fmt.Sprintf(`{"items":[{"id":"1","title":%q}]}`, long)).Title; got != long {
		t.Errorf("title = %q, want %q", got, long)
	}
}

// valid returns a page's drafts, which intake must accept.
func valid(t *testing.T, page connector.FetchedPage) []memory.Draft {
	t.Helper()
	for _, d := range page.Memories {
		if problems := intake.Problems(connector.Action{Memory: &d}); len(problems) > 0 {
			t.Errorf("intake refuses %+v: %v", d, problems)
		}
	}
	return page.Memories
}
