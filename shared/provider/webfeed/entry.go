package webfeed

import (
	"bytes"
	"encoding/xml"
	"net/url"
	"strings"

	"orgops/shared/provider/connector"
)

// entry holds the fields that become a memory, as plain text. Addresses are absolute.
type entry struct {
	id, title, link, content, summary string
	enclosure                         string // the address of the first file
	described                         string // the description of the files, for an entry without a text of its own
	published                         string // as the feed writes it: the part of an entry that stays as it is
	changed                           connector.When
	html                              bool // the link is said to lead to HTML
}

// listing holds what is read of a document.
type listing struct {
	address *url.URL // of the document
	first   int      // how many entries are kept
	all     []entry
	skipped []connector.Skipped
	cut     bool // the document lacks its end
}

// full reports whether all entries are read that are kept.
func (l *listing) full() bool { return len(l.all)+len(l.skipped) >= l.first }

// add keeps an entry.
func (l *listing) add(e entry) { l.all = append(l.all, e) }

// skip leaves an entry out.
func (l *listing) skip(item, reason string) {
	l.skipped = append(l.skipped, connector.Skipped{Item: item, Reason: reason})
}

// entries reads a decoded document in RSS, Atom or JSON Feed to its end.
func (l *listing) entries(document []byte) error {
	switch {
	case len(document) == 0:
		return errEmpty
	case bytes.HasPrefix(document, []byte("{")):
		return l.fromJSON(document)
	case !bytes.HasPrefix(document, []byte("<")):
		return errUnknown
	}
	if head := string(document[:min(maxHead, len(document))]); isPage(head) {
		return pageOf(head, l.address)
	}
	t := read(document)
	root, err := t.root()
	if err != nil {
		return err
	}
	switch strings.ToLower(root.Name.Local) {
	case "rss", "rdf":
		err = l.fromRSS(t, root)
	case "feed":
		err = l.fromAtom(t, root)
	default:
		return &rootError{root.Name.Local}
	}
	if err != nil {
		return err
	}
	l.cut = t.cut
	return t.finish()
}

// vocabulary returns the usual prefix of a namespace, "" for that of RSS, and the namespace itself if it has none. Case, a
// slash at the end and https do not matter. A prefix that a document does not declare stands for itself.
func vocabulary(space string) string {
	if len(space) > maxURL {
		return space
	}
	known := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(space)), "/")
	if rest, ok := strings.CutPrefix(known, "https://"); ok {
		known = "http://" + rest
	}
	switch known {
	case "", "rss", "rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://purl.org/rss/1.0",
		"http://channel.netscape.com/rdf/simple/0.9", "http://my.netscape.com/rdf/simple/0.9":
		return ""
	case "dc", "http://purl.org/dc/elements/1.1":
		return "dc"
	case "dcterms", "http://purl.org/dc/terms":
		return "dcterms"
	case "content", "http://purl.org/rss/1.0/modules/content":
		return "content"
	case "itunes", "http://www.itunes.com/dtds/podcast-1.0.dtd":
		return "itunes"
	case "media", "http://search.yahoo.com/mrss":
		return "media"
	case "xhtml", "http://www.w3.org/1999/xhtml":
		return "xhtml"
	case "atom", "atom10", "atom03", "http://www.w3.org/2005/atom", "http://purl.org/atom/ns#":
		return "atom"
	}
	return space
}

// attribute returns the value of an attribute without a prefix.
func attribute(start xml.StartElement, name string) string {
	for _, a := range start.Attr {
		if a.Name.Space == "" && strings.EqualFold(a.Name.Local, name) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// latest returns the latest of the moments that can be read, and what cannot be read if none can.
func latest(moments ...string) (last connector.When) {
	for _, m := range moments {
		switch w := connector.WhenIn(m); {
		case w.At != nil && (last.At == nil || w.At.After(*last.At)):
			last = w
		case last == connector.When{}:
			last = w
		}
	}
	return last
}
