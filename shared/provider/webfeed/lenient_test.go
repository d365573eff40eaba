package webfeed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

// TestConnector_Fetch_bad puts a bad item between two good ones. It hurts itself alone: it gets what it lacks from its other fields, or
// it is left out and named.
func TestConnector_Fetch_bad(t *testing.T) {
	t.Parallel()
	const ids = "first bad last"
	channel := func(items string) string {
		return `<rss version="2.0"><channel><item><guid>first</guid><title>First</title></item>` + items +
			`<item><guid>last</guid><title>Last</title></item></channel></rss>`
	}
	feed := func(entries string) string {
		return `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>first</id><title>First</title></entry>` + entries +
			`<entry><id>last</id><title>Last</title></entry></feed>`
	}
	list := func(items string) string {
		return `{"items":[{"id":"first","title":"First"},` + items + `,{"id":"last","title":"Last"}]}`
	}
	tests := []struct{ name, document, ids, title, skipped string }{
		{"no title", channel(`<item><guid>bad</guid><description>Some &lt;b&gt;words&lt;/b&gt;</description></item>`), ids, "Some words", ""},
		{"an id alone", channel(`<item><guid isPermaLink="false">bad</guid><title/></item>`), ids, "bad", ""},
		{"an enclosure alone", channel(`<item><enclosure url="https://example.com/1.mp3" length="7" type="audio/mpeg"/></item>`),
			"first https://example.com/1.mp3 last", "https://example.com/1.mp3", ""},
		{"media alone", channel(`<item><media:content xmlns:media="http://search.yahoo.com/mrss/" url="https://example.com/1.mp4"/></item>`),
			"first https://example.com/1.mp4 last", "https://example.com/1.mp4", ""},
		{"a link alone", channel(`<item><link>https://example.com/1</link></item>`), "first https://example.com/1 last", "https://example.com/1", ""},
		{"nothing", channel(`<item><category>x</category></item>`), "first last", "", "the entry has no title, no text and no link"},
		{"a reference to a control character", channel(`<item><guid>bad</guid><title>A&#8;B&#x0;C&#11;D</title></item>`), ids, "ABCD", ""},
		{"a reference in an attribute", channel(`<item><guid a="&#8;">bad</guid><title>A</title></item>`), ids, "A", ""},
		{"a reference in HTML", channel(`<item><guid>bad</guid><title><![CDATA[A&#8;B]]>&amp;#8;C</title></item>`), ids, "ABC", ""},
		{"unknown entities", channel(`<item><guid>bad</guid><title>A&nbsp;&hellip; &bogus; &</title></item>`), ids, "A … &bogus; &", ""},
		{"a bare bracket", channel(`<item><guid>bad</guid><title>1 < 2 && 3 <= 4</title></item>`), ids, "1 < 2 && 3 <= 4", ""},
		{"the end of a section in text", channel(`<item><guid>bad</guid><title>a[b[0]]> &amp; c</title></item>`), ids, "a[b[0]]> & c", ""},
		{"an end without a start", channel(`<item><guid>bad</guid><title>A</title></b></items></item></item>`), ids, "A", ""},
		{"no end of a field", channel(`<item><guid>bad</guid><title>A</item>`), ids, "A", ""},
		{"no end of the item", channel(`<item><guid>bad</guid><title>A</title>`), ids, "A", ""},
		{"ends in the wrong order", channel(`<item><guid>bad</guid><title><b><i>A</b></i></title></item>`), ids, "A", ""},
		{"a broken attribute", channel(`<item><guid>bad</guid><title>A</title><enclosure url="x></item>`), ids, "A", ""},
		{"a comment with two hyphens", channel(`<!-- <item>-- x --><item><guid>bad</guid><title>A</title></item>`), ids, "A", ""},
		{"a prefix without a namespace", channel(`<item><guid>bad</guid><dc:title>A</dc:title><x:y:z/></item>`), ids, "A", ""},
		{"a long id", channel(`<item><guid>` + strings.Repeat("x", 600) + `</guid><title>A</title></item>`),
			"first urn:uuid:799805f6-accd-86eb-94cf-4af1d5143a1d last", "A", ""},
		{"an end behind the document", channel(`<item><guid>bad</guid><title>A</title></item>`) + "</rss></channel>\x00<b>", ids, "A", ""},
		{"no end of the document", strings.TrimSuffix(channel(`<item><guid>bad</guid><title>A</title></item>`), "</item></channel></rss>"), ids, "A", ""},

		{"Atom: no id", feed(`<entry><title>A</title><link href="https://example.com/1"/></entry>`), "first https://example.com/1 last", "A", ""},
		{"Atom: a file alone", feed(`<entry><link rel="enclosure" href="https://example.com/1.mp3"/></entry>`),
			"first https://example.com/1.mp3 last", "https://example.com/1.mp3", ""},
		{"Atom: no end of the entry", feed(`<entry><id>bad</id><title>A</title>`), ids, "A", ""},

		{"JSON: a null title", list(`{"id":"bad","title":null,"content_text":"A\nB"}`), ids, "A", ""},
		{"JSON: wrong types", list(`{"id":"bad","title":{"a":1},"url":7,"content_html":["x"],"summary":"S","attachments":"y"}`), ids, "S", ""},
		{"JSON: numbers", list(`{"id":7.5,"title":8}`), "first 7.5 last", "8", ""},
		{"JSON: an id of a wrong type", list(`{"id":{},"url":"https://example.com/1","title":"A"}`), "first https://example.com/1 last", "A", ""},
		{"JSON: a file alone", list(`{"attachments":[{"url":"https://example.com/1.mp3"}]}`), "first https://example.com/1.mp3 last", "https://example.com/1.mp3", ""},
		{"JSON: null", list(`null`), "first last", "", "the item is not a JSON object"},
		{"JSON: a list", list(`[{"id":"x"}]`), "first last", "", "the item is not a JSON object"},
		{"JSON: a broken escape", list(`{"id":"x","title":"\q"}`), "first last", "", "the item is not a JSON object"},
		{"JSON: a new line in a string", list("{\"id\":\"bad\",\"title\":\"A\nB\\u0008\"}"), ids, "A B", ""},
		{"JSON: a comma too many", list(`{"id":"bad","title":"A"},`), ids, "A", ""},
		{"JSON: half of a character in an id", list(`{"id":"\ud800","url":"https://example.com/1","title":"A"}`), "first last", "", "/id" + notUnicode},
		{"JSON: half of a character in a title", list(`{"id":"bad","title":"a \ud83d b"}`), "first last", "", "/title" + notUnicode},
		{"JSON: half of a character in a text", list(`{"id":"bad","title":"A","content_html":"\udc00"}`), "first last", "", "/content_html" + notUnicode},
		{"JSON: bytes of an id that are not UTF-8", list("{\"id\":\"\xe9\",\"title\":\"A\"}"), "first last", "", "/id" + notUnicode},
		{"JSON: bytes of a title that are not UTF-8", list("{\"id\":\"bad\",\"title\":\"caf\xe9\"}"), "first last", "", "/title" + notUnicode},
		{"JSON: a byte order mark", "\ufeff" + list("{\"id\":\"bad\",\"title\":\"caf\xe9\"}"), "first last", "", "/title" + notUnicode},
		{"JSON: a pair of halves", list(`{"id":"bad","title":"\ud83d\ude00"}`), ids, "😀", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page, err := fetch(t, serve(tt.document), connector.Fetch{}, 0)
			errtest.Must(t, err)
			var ids []string
			title := ""
			for _, d := range valid(t, page) {
				if ids = append(ids, d.ExternalID); d.ExternalID != "first" && d.ExternalID != "last" {
					title = d.Title
				}
			}
			if got := strings.Join(ids, " "); got != tt.ids {
				t.Errorf("ids = %q, want %q", got, tt.ids)
			}
			if title != tt.title {
				t.Errorf("title = %q, want %q", title, tt.title)
			}
			skipped := ""
			for _, s := range page.Skipped {
				skipped += s.Reason
			}
			if skipped != tt.skipped {
				t.Errorf("skipped: %q, want %q", skipped, tt.skipped)
			}
		})
	}
}

// notUnicode is what follows the place of a text in the reason to leave an item out.
const notUnicode = ` is not valid Unicode: it has bytes that are not UTF-8, or one half of a surrogate pair such as \ud800`

// TestConnector_Fetch_cutOff cuts documents in the middle of their second entry, which is left out. The first one stays.
func TestConnector_Fetch_cutOff(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		`<rss><channel><item><guid>1</guid><title>One</title></item><item><guid>2</guid><title>Tw`,
		`<feed><entry><id>1</id><title>One</title></entry><entry><id>2</id><title><![CDATA[Tw`,
		`{"items":[{"id":"1","title":"One"},{"id":"2","ti`,
	} {
		tagged := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"cut"`)
			serve(document)(w, r)
		}
		page, err := fetch(t, tagged, connector.Fetch{}, 0)
		errtest.Must(t, err)
		if strings.Contains(string(page.State), "etag") {
			t.Errorf("%s: state %s, want no tag: the next run has to read the rest", document, page.State)
		}
		if got := len(valid(t, page)); got != 1 {
			t.Errorf("%s: %d entries, want 1", document, got)
		}
		reasons := []string{}
		for _, s := range page.Skipped {
			reasons = append(reasons, s.Reason)
		}
		if want := []string{"the document ends in the middle of the entry"}; !slices.Equal(reasons, want) {
			t.Errorf("%s: reasons = %q, want %q", document, reasons, want)
		}
		if want := []string{"the document ends before its last element does; it may be cut off"}; !slices.Equal(page.Warnings, want) {
			t.Errorf("%s: warnings = %q, want %q", document, page.Warnings, want)
		}
	}
}

// TestConnector_Fetch_digest identifies an entry without an id and a link by what does not change, so that an edit of its text makes no
// second memory.
func TestConnector_Fetch_digest(t *testing.T) {
	t.Parallel()
	id := func(item string) string {
		return only(t, "<rss><channel><item>"+item+"</item></channel></rss>").ExternalID
	}
	const dated = "<title>A</title><pubDate>Fri, 01 May 2026 10:00:00 GMT</pubDate>"
	if one, two := id(dated+"<description>x</description>"), id(dated+"<description>y</description>"); one != two {
		t.Errorf("ids %s and %s of one entry before and after an edit, want the same", one, two)
	}
	for _, other := range []string{"<title>B</title><pubDate>Fri, 01 May 2026 10:00:00 GMT</pubDate>", "<title>A</title>", "<title>A</title><description>x</description>"} {
		if one, two := id(dated), id(other); one == two {
			t.Errorf("id %s of two entries, want one each", one)
		}
	}
}

// TestConnector_Fetch_empty tells that a feed has no entries, and that it had some before. The next run looks again.
func TestConnector_Fetch_empty(t *testing.T) {
	t.Parallel()
	document := rss
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(document)))
		if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(document))
	}
	var state json.RawMessage
	run := func(want ...string) {
		t.Helper()
		page, err := fetch(t, h, connector.Fetch{State: state}, 0)
		errtest.Must(t, err)
		if state = page.State; !slices.Equal(page.Warnings, want) {
			t.Errorf("warnings = %q, want %q", page.Warnings, want)
		}
	}
	run()
	document = "<rss><channel/></rss>"
	const gone = "the feed has no entries any more, after 3 before; their memories stay. Check the feed, and its url"
	run(gone)
	run(gone)
	document, state = `{"items":[]}`, nil
	run("the feed can be read, but has no entries; check its url, or wait for the first one")
	document = `{"items":[]} `
	run("the feed can be read, but has no entries; check its url, or wait for the first one")
}
