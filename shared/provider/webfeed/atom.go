package webfeed

import (
	"cmp"
	"encoding/xml"
	"net/url"
	"strings"
)

// atom reads the entries of a document in Atom 0.3 or 1.0.
type atom struct {
	*tokens
	*listing
}

func (l *listing) fromAtom(t *tokens, root xml.StartElement) error {
	a := &atom{tokens: t, listing: l}
	relativeTo := base(l.address, root)
	return a.children(func(start xml.StartElement) error {
		if a.name(start) != "entry" {
			return a.tokens.skip()
		}
		return a.read(base(relativeTo, start))
	})
}

// name returns the name of an element in lower case, "" if it is not of Atom.
func (a *atom) name(start xml.StartElement) string {
	if v := vocabulary(start.Name.Space); v != "atom" && v != "" && (v != start.Name.Space || !a.bare()) {
		return ""
	}
	return strings.ToLower(start.Name.Local)
}

// read reads an entry.
func (a *atom) read(relativeTo *url.URL) error {
	if err := a.entry(); err != nil {
		return err
	}
	if a.full() {
		return a.tokens.skip()
	}
	var e entry
	dates := map[string]string{}
	err := a.children(func(field xml.StartElement) (err error) {
		switch name := a.name(field); {
		case name == "link":
			e.refer(base(relativeTo, field), field)
			return a.tokens.skip()
		case vocabulary(field.Name.Space) == "media" && strings.EqualFold(field.Name.Local, "group"):
			return a.children(func(file xml.StartElement) error { return a.described(&e, file) })
		case encoded(field):
			return a.tokens.skip()
		case name == "id":
			e.id, err = a.word()
		case name == "title":
			err = a.latest(&e.title, field)
		case name == "summary":
			err = a.latest(&e.summary, field)
		case name == "content":
			err = a.latest(&e.content, field)
		case name == "updated", name == "published", name == "modified", name == "issued", name == "created":
			dates[name], err = a.word()
		default:
			return a.tokens.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	e.published = firstOf(dates["published"], dates["issued"], dates["created"])
	e.changed = latest(dates["updated"], dates["modified"], e.published)
	if a.within {
		a.listing.skip(firstOf(e.id, e.title, e.link), cutOff)
		return nil
	}
	a.add(e)
	return nil
}

// latest reads a text. Of several, the last that has text counts.
func (a *atom) latest(into *string, field xml.StartElement) error {
	text, err := a.prose(textOf(field))
	*into = firstOf(text, *into)
	return err
}

// described reads an element of a group of files of Media RSS. Its description is the only text of YouTube's entries.
func (a *atom) described(e *entry, file xml.StartElement) error {
	if vocabulary(file.Name.Space) != "media" || !strings.EqualFold(file.Name.Local, "description") {
		return a.tokens.skip()
	}
	return a.latest(&e.described, file)
}

// refer takes an entry's link to its page or to a file.
func (e *entry) refer(relativeTo *url.URL, field xml.StartElement) {
	address := resolve(relativeTo, attribute(field, "href"))
	switch html := strings.HasSuffix(strings.ToLower(attribute(field, "type")), "html"); relation(field) {
	case "alternate":
		if e.link == "" || html && !e.html {
			e.link, e.html = address, html
		}
	case "enclosure":
		e.enclosure = firstOf(e.enclosure, address)
	}
}

// relation returns the relation of a link in lower case. The name of a registered one may be a whole IRI (RFC 4287 §4.2.7.2).
func relation(link xml.StartElement) string {
	rel := strings.ToLower(attribute(link, "rel"))
	return cmp.Or(strings.TrimPrefix(rel, "http://www.iana.org/assignments/relation/"), "alternate")
}

// textOf says what the text of a field of Atom is (RFC 4287 §3.1.1 and §4.1.3). In XHTML and other XML the markup is elements, and the
// text between them is plain. Atom 0.3 does not say what escaped text without a type is.
func textOf(field xml.StartElement) kind {
	switch t := strings.ToLower(attribute(field, "type")); {
	case t == "html", strings.HasPrefix(t, "text/html"):
		return asHTML
	case t == "" && strings.EqualFold(attribute(field, "mode"), "escaped"):
		return asMaybe
	}
	return asText
}

// encoded reports whether a field is base64.
func encoded(field xml.StartElement) bool {
	kind, _, media := strings.Cut(strings.ToLower(attribute(field, "type")), "/")
	if media && (kind == "image" || kind == "audio" || kind == "video") {
		return true
	}
	return strings.EqualFold(attribute(field, "mode"), "base64")
}
