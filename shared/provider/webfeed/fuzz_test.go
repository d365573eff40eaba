package webfeed

import (
	"strings"
	"testing"
	"unicode/utf8"

	"orgops/shared/provider/connector"
)

func FuzzPage(f *testing.F) {
	for _, seed := range []string{
		`<rss version="2.0"><channel><item><guid>1</guid><title>A &amp; B</title><description>&lt;p&gt;x</description></item></channel></rss>`,
		`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title type="xhtml"><div>t</div></title></entry></feed>`,
		`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><item><title>t</title><link>l</link></item></rdf:RDF>`,
		`{"version":"https://jsonfeed.org/version/1","items":[null,{"id":"1","title":"t"}]}`,
		`<?xml version="1.0" encoding="utf-7"?><rss/>`, "\xef\xbb\xbf{}", "", "<",
	} {
		f.Add([]byte(seed))
	}
	for _, h := range hostiles() {
		f.Add(h.document(4 << 10))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var p connector.FetchedPage
		var err error
		took := allocated(func() { p, err = page(document, Config{MaxItems: 10}, source{}, state{}) })
		if most := min(mostMemory, 1<<20+200*uint64(len(document))); took > most {
			t.Errorf("%d bytes take %d bytes of memory, want at most %d", len(document), took, most)
		}
		if err != nil {
			return
		}
		if n := len(p.Memories); n > 10 {
			t.Errorf("%d entries, want 10 at most", n)
		}
		for _, d := range p.Memories {
			named := d.ExternalID != "" && len(d.ExternalID) <= 512 // intake refuses other drafts; these must be valid
			if named && len(d.Check("")) > 0 {
				t.Errorf("invalid draft: %+v", d)
			}
			if text := d.Title + d.Body; !utf8.ValidString(text) {
				t.Errorf("title and body are not UTF-8: %q", text)
			}
			if strings.Contains(d.Title, "\n") {
				t.Errorf("title has more than one line: %q", d.Title)
			}
		}
	})
}
