package webfeed

import (
	"encoding/xml"
	"net/url"
	"strings"
)

// atom reads the entries of a document in Atom 0.3 or 1.0.
type atom struct {
	*tokens
	first int // how many entries are kept
	all   []entry
}

func fromAtom(t *tokens, root xml.StartElement, first int) ([]entry, error) {
	a := &atom{tokens: t, first: first}
	relativeTo := base(nil, root)
	err := a.children(func(start xml.StartElement) error {
		if a.name(start) != "entry" {
			return a.skip()
		}
		return a.entry(relativeTo, start)
	})
	return a.all, err
}

// name returns the name of an element in lower case, "" if it is not of Atom.
func (*atom) name(start xml.StartElement) string {
	if v := vocabulary(start.Name.Space); v != "atom" && v != "" {
		return ""
	}
	return strings.ToLower(start.Name.Local)
}

// entry reads an entry.
func (a *atom) entry(relativeTo *url.URL, start xml.StartElement) error {
	if err := a.tokens.entry(); err != nil {
		return err
	}
	if len(a.all) >= a.first {
		return a.skip()
	}
	var e entry
	err := a.children(func(field xml.StartElement) (err error) {
		switch name := a.name(field); {
		case name == "link":
			if rel := attribute(field, "rel"); e.link == "" && (rel == "" || rel == "alternate") {
				e.link = strings.TrimSpace(attribute(field, "href"))
			}
			return a.skip()
		case encoded(field):
			return a.skip()
		case name == "id":
			e.id, err = a.word()
		case name == "title":
			e.title, err = a.prose(xhtml(field))
		case name == "summary":
			e.summary, err = a.prose(xhtml(field))
		case name == "content":
			e.content, err = a.prose(xhtml(field))
		default:
			return a.skip()
		}
		return err
	})
	relativeTo = base(relativeTo, start)
	e.id, e.link = resolve(relativeTo, e.id), resolve(relativeTo, e.link)
	a.all = append(a.all, e)
	return err
}

// xhtml reports whether the text of a field's children is not HTML again.
func xhtml(field xml.StartElement) bool {
	kind := strings.ToLower(attribute(field, "type"))
	return strings.Contains(kind, "xhtml") || strings.HasSuffix(kind, "xml")
}

// encoded reports whether a field is base64.
func encoded(field xml.StartElement) bool {
	kind, _, media := strings.Cut(strings.ToLower(attribute(field, "type")), "/")
	if media && (kind == "image" || kind == "audio" || kind == "video") {
		return true
	}
	return strings.EqualFold(attribute(field, "mode"), "base64")
}
