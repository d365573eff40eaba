package webfeed_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

// TestConnector_Fetch_text keeps all of a text. Each format says what is HTML; RSS does not, so there a tag is markup only if it can be.
func TestConnector_Fetch_text(t *testing.T) {
	t.Parallel()
	rssItem := func(fields string) string {
		return `<rss xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><item><guid>1</guid>` + fields + `</item></channel></rss>`
	}
	atomEntry := func(fields string) string {
		return `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>` + fields + `</entry></feed>`
	}
	jsonItem := func(fields string) string { return `{"items":[{"id":"1",` + fields + `}]}` }
	tests := []struct{ name, document, title, body string }{
		{"RSS: lines", rssItem("<title>\n One\n  two &lt;br&gt; three\n</title>"), "One two three", ""},
		{"RSS: a generic type", rssItem("<title>Fix Vec&lt;T&gt; drop</title><description>Use Map&lt;A, B&gt; &amp; List&lt;b&gt;</description>"),
			"Fix Vec<T> drop", "Use Map<A, B> & List<b>"},
		{"RSS: HTML", rssItem(`<title>&lt;b&gt;Bold&lt;/b&gt; &lt;T&gt;</title><description>&lt;p&gt;One&lt;p&gt;Two &lt;img src="x"&gt;&lt;!-- x --&gt;</description>`),
			"Bold <T>", "One\nTwo"},
		{"RSS: escaped twice", rssItem("<title>A &amp;amp; B &amp;lt;i&amp;gt; &amp;copy=1</title>"), "A & B <i> &copy=1", ""},
		{"RSS: encoded content is HTML", rssItem("<title>A</title><content:encoded>&lt;x-y&gt;B&lt;/x-y&gt; &lt;T&gt;C</content:encoded>"), "A", "B C"},
		{"RSS: an empty field behind one with text", rssItem("<title>A</title><title/><description>Text</description><description></description>"), "A", "Text"},
		{"RSS: a body in XHTML", rssItem(`<title>A</title><body xmlns="http://www.w3.org/1999/xhtml"><p>One</p><p>Two</p></body>`), "A", "One\nTwo"},
		{"RSS: the subtitle of an episode", rssItem(`<title>A</title><itunes:subtitle>Short</itunes:subtitle>`), "A", "Short"},
		{"RSS: a namespace of the channel", `<rss><channel xmlns="http://backend.userland.com/rss2"><item><guid>1</guid><title>A</title></item></channel></rss>`, "A", ""},
		{"RSS: a namespace of the item", `<rss><channel><item xmlns="urn:x"><guid>1</guid><title>A</title><y:title xmlns:y="urn:y">B</y:title></item></channel></rss>`, "A", ""},
		{"RSS: a vocabulary by https", rssItem(`<title>A</title><e:encoded xmlns:e="https://purl.org/rss/1.0/modules/content/">B</e:encoded>`), "A", "B"},
		{"Atom: its namespace by https", `<feed xmlns="https://www.w3.org/2005/Atom"><entry><id>1</id><title>A</title></entry></feed>`, "A", ""},
		{"Atom: a namespace of its own", `<feed xmlns="urn:x"><entry><id>1</id><title>A</title><y:title xmlns:y="urn:y">B</y:title></entry></feed>`, "A", ""},
		{"RSS: Media RSS", rssItem(`<media:group xmlns:media="http://search.yahoo.com/mrss/"><media:title>A</media:title><media:content url="x"/>` +
			`<media:description>Of the &lt;T&gt; file</media:description></media:group>`), "A", "Of the <T> file"},
		{"RSS: its own text before Media RSS", rssItem(`<title>A</title><media:title>B</media:title><media:description>C</media:description><description>D</description>`), "A", "D"},
		{"RSS: the text of an image", rssItem(`<title>A</title><media:content url="x.png"><media:description>Alternative</media:description></media:content>`), "A", ""},
		{"Atom: an empty field behind one with text", atomEntry("<title>A</title><title/><content>Text</content><content/><summary>Short</summary><summary/>"), "A", "Text"},
		{"Atom: YouTube", atomEntry(`<title>A</title><media:group xmlns:media="http://search.yahoo.com/mrss/"><media:title>B</media:title>` +
			`<media:description>Of the video</media:description><media:community/></media:group>`), "A", "Of the video"},
		{"RSS: a script", rssItem("<title>The &lt;script&gt; tag</title><description>&lt;script&gt;x&lt;/script&gt;y</description>"), "The <script> tag", "y"},
		{"Atom: text", atomEntry("<title>Fix Vec&lt;T&gt; &lt;b&gt;drop&lt;/b&gt;\n&amp;amp;</title><summary type='text'>a &lt;p&gt; b</summary>"),
			"Fix Vec<T> <b>drop</b> &amp;", "a <p> b"},
		{"Atom: HTML", atomEntry(`<title type="html">Fix &amp;lt;T&amp;gt; &lt;i&gt;now&lt;/i&gt;</title><content type="text/html">&lt;p&gt;a&lt;/p&gt;b</content>`), "Fix <T> now", "a\nb"},
		{"Atom: XHTML", atomEntry(`<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">A &lt;b&gt; <i>c</i></div></title>` +
			`<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>a &lt;b&gt; c</p><script>x</script><p>d</p></div></content>`), "A <b> c", "a <b> c\nd"},
		{"Atom: base64", atomEntry(`<title>A</title><summary>Short</summary><content type="image/png">AAAA</content>`), "A", "Short"},
		{"Atom 0.3", `<feed xmlns="http://purl.org/atom/ns#"><entry><id>1</id><title mode="escaped">A &lt;b&gt;c&lt;/b&gt; &lt;T&gt;</title></entry></feed>`, "A c <T>", ""},
		{"JSON: text", jsonItem(`"title":"Fix Vec<T>\n<b>drop</b> &amp;","content_text":" a <p>\r\n\r\n  b &lt; "`), "Fix Vec<T> <b>drop</b> &amp;", "a <p>\n\n  b &lt;"},
		{"JSON: HTML", jsonItem(`"title":"A","content_html":"<p>a &lt;T&gt;</p>b","content_text":"x"`), "A", "a <T>\nb"},
	}
	for _, tt := range tests {
		got := only(t, tt.document)
		if diff := cmp.Diff([]string{tt.title, tt.body}, []string{got.Title, got.Body}); diff != "" {
			t.Errorf("%s: title and body differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestConnector_Fetch_addresses resolves addresses as RFC 3986 does: relative to xml:base, and that to the feed's own address, which
// fetch ends with "/feed". An id stays as it is.
func TestConnector_Fetch_addresses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, document, want string }{
		{"the feed's address", `<rss><channel><item><guid>1</guid><link>post/1</link></item></channel></rss>`, "/post/1"},
		{"JSON", `{"items":[{"id":"1","url":"post/1?a#b"}]}`, "/post/1?a#b"},
		{"Atom", `<feed><entry><id>1</id><link href="./1"/></entry></feed>`, "/1"},
		{"a base that is a file", `<feed xml:base="https://example.com/news"><entry><id>1</id><link href="1.html"/></entry></feed>`, "https://example.com/1.html"},
		{"a base that is a folder", `<feed xml:base="https://example.com/news/"><entry><id>1</id><link href="1.html"/></entry></feed>`, "https://example.com/news/1.html"},
		{"bases within each other", `<feed xml:base="/a/"><entry xml:base="b/"><id>1</id><link xml:base="c/" href="1.html"/></entry></feed>`, "/a/b/c/1.html"},
		{"RSS with a base", `<rss xml:base="https://example.com/x/y"><channel><item><guid>1</guid><link>../1</link></item></channel></rss>`, "https://example.com/1"},
		{"the scheme of the base", `<rss xml:base="https://example.com/"><channel><item><guid>1</guid><link>//example.org/1</link></item></channel></rss>`, "https://example.org/1"},
		{"a guid", `<rss><channel><item><guid>https://example.com/1</guid></item></channel></rss>`, "https://example.com/1"},
		{"a guid that is no link", `<rss><channel><item><guid isPermaLink="false">https://example.com/1</guid><title>A</title></item></channel></rss>`, ""},
		{"a guid next to a link", `<rss><channel><item><guid>https://example.com/1</guid><link>https://example.com/2</link></item></channel></rss>`, "https://example.com/2"},
		{"an Atom link in RSS", `<rss><channel><item><guid>1</guid><atom:link href="https://example.com/1"/></item></channel></rss>`, "https://example.com/1"},
		{"of two Atom links in RSS the first", `<rss><channel><item><guid>1</guid><atom:link href="/1"/><atom:link href="/2"/></item></channel></rss>`, "/1"},
		{"a relation by its whole name", `<feed><entry><id>1</id><link rel="http://www.iana.org/assignments/relation/alternate" href="/1"/></entry></feed>`, "/1"},
		{"a page before its data", `<feed><entry><id>1</id><link type="application/json" href="/1.json"/><link type="text/html" href="/1"/><link href="/2"/></entry></feed>`, "/1"},
		{"the file behind one without an address", `{"items":[{"id":"1","attachments":[7,{"title":"a"},{"url":"/1.mp3"}]}]}`, "/1.mp3"},
		{"an external url", `{"items":[{"id":"1","external_url":"https://example.com/1"}]}`, "https://example.com/1"},
		{"a url and an external one", `{"items":[{"id":"1","url":"https://example.com/2","external_url":"https://example.com/1"}]}`, "https://example.com/2"},
		{"a file", `<rss><channel><item><guid>1</guid><enclosure url="1.mp3"/></item></channel></rss>`, "/1.mp3"},
	}
	for _, tt := range tests {
		host := ""
		page, err := fetch(t, func(w http.ResponseWriter, r *http.Request) {
			host = "http://" + r.Host
			_, _ = w.Write([]byte(tt.document))
		}, connector.Fetch{}, 0)
		errtest.Must(t, err)
		if tt.want != "" && tt.want[0] == '/' {
			tt.want = host + tt.want
		}
		if len(page.Memories) != 1 {
			t.Fatalf("%s: drafts = %+v, want one", tt.name, page.Memories)
		}
		if got := page.Memories[0].URL; got != tt.want {
			t.Errorf("%s: URL = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestConnector_Fetch_dates takes when an entry changed, in the forms and fields of each format. So an older copy changes nothing.
func TestConnector_Fetch_dates(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 5, 1, 10, 20, 30, 0, time.UTC)
	rssItem := func(fields string) string {
		return `<rss><channel><item><guid>1</guid><title>A</title>` + fields + `</item></channel></rss>`
	}
	for _, document := range []string{
		rssItem("<pubDate>Fri, 01 May 2026 10:20:30 +0000</pubDate>"),
		rssItem("<pubDate>Fri, 1 May 26 06:20:30 EDT</pubDate>"),
		rssItem("<dc:date>2026-05-01T12:20:30+02:00</dc:date>"),
		rssItem("<pubDate>Thu, 30 Apr 2026 10:20:30 GMT</pubDate><atom:updated>2026-05-01T10:20:30Z</atom:updated>"),
		rssItem("<pubDate>soon</pubDate><dcterms:modified>2026-05-01 10:20:30</dcterms:modified>"),
		`<feed><entry><id>1</id><title>A</title><published>2026-04-30T10:20:30Z</published><updated>2026-05-01T10:20:30Z</updated></entry></feed>`,
		`<feed><entry><id>1</id><title>A</title><issued>2026-04-30T10:20:30Z</issued><modified>2026-05-01T10:20:30Z</modified></entry></feed>`,
		`{"items":[{"id":"1","title":"A","date_published":"2026-05-01T10:20:30Z"}]}`,
		`{"items":[{"id":"1","title":"A","date_published":"2026-04-30T10:20:30Z","date_modified":1777630830}]}`,
	} {
		if diff := cmp.Diff(&want, only(t, document).UpdatedAt); diff != "" {
			t.Errorf("%s: time of the change differs (-want +got):\n%s", document, diff)
		}
	}
	page, err := fetch(t, serve(`<rss><channel><item><guid>1</guid><title>A</title><pubDate>05/01/2026</pubDate></item></channel></rss>`), connector.Fetch{}, 0)
	errtest.Must(t, err)
	if got, want := strings.Join(page.Warnings, ""), `the time of "1" is "05/01/2026"`; !strings.Contains(got, want) {
		t.Errorf("a time that cannot be read: warnings = %q, want one with %q", got, want)
	}
	draft := func(title, at string) memory.Draft {
		return only(t, `<feed><entry><id>1</id><title>`+title+`</title><updated>`+at+`</updated></entry></feed>`)
	}
	m, _ := memory.Apply(memory.Memory{}, "feed", draft("New", "2026-05-01T10:20:30Z"), now)
	if m, changed := memory.Apply(m, "feed", draft("Old", "2026-05-01T10:20:29Z"), now); changed {
		t.Errorf("an older copy makes %q of a newer one, want no change", m.Title)
	}
}

// TestConnector_Fetch_charset reads a document in the character set of its Content-Type.
func TestConnector_Fetch_charset(t *testing.T) {
	t.Parallel()
	page, err := fetch(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml; charset=windows-1251")
		_, _ = w.Write([]byte("<rss><channel><item><guid>1</guid><title>\xcf\xf0\xe8\xe2\xe5\xf2</title></item></channel></rss>"))
	}, connector.Fetch{}, 0)
	errtest.Must(t, err)
	if got, want := page.Memories[0].Title, "Привет"; got != want {
		t.Errorf("title = %q, want %q", got, want)
	}
}
