package webfeed

import (
	"encoding/xml"
	"net/url"
	"strings"
)

// rss reads the items of a document in RSS 0.9 to 2.0. They are children of the root or of its channel.
type rss struct {
	*tokens
	*listing
	native string // the namespace of the root, which a publisher may have invented
}

func (l *listing) fromRSS(t *tokens, root xml.StartElement) error {
	r := &rss{tokens: t, listing: l, native: root.Name.Space}
	switch vocabulary(root.Name.Space) {
	case "dc", "content", "itunes", "atom":
		r.native = ""
	}
	return r.items(base(l.address, root), true)
}

// name returns the name of an element in lower case, with the usual prefix if it is not of RSS.
func (r *rss) name(start xml.StartElement) string {
	local := strings.ToLower(start.Name.Local)
	prefix := vocabulary(start.Name.Space)
	if prefix == "" || start.Name.Space == r.native || prefix == start.Name.Space && r.bare() {
		return local
	}
	return prefix + ":" + local
}

// items reads the items of the root, and of its channel, or of a channel.
func (r *rss) items(relativeTo *url.URL, root bool) error {
	return r.children(func(start xml.StartElement) error {
		switch name := r.name(start); {
		case name == "channel" && root:
			return r.items(base(relativeTo, start), false)
		case name == "item":
			return r.item(base(relativeTo, start), start)
		}
		return r.tokens.skip()
	})
}

// item reads an item.
func (r *rss) item(relativeTo *url.URL, start xml.StartElement) error {
	if err := r.entry(); err != nil {
		return err
	}
	if r.full() {
		return r.tokens.skip()
	}
	fields := map[string]string{}
	for _, a := range start.Attr {
		if a.Name.Local == "about" { // RSS 1.0
			fields["about"] = strings.TrimSpace(a.Value)
		}
	}
	if err := r.children(func(field xml.StartElement) error { return r.itemField(fields, relativeTo, field) }); err != nil {
		return err
	}
	e := entry{
		id:      firstOf(fields["guid"], fields["about"], fields["dc:identifier"]),
		title:   firstOf(fields["title"], fields["dc:title"], fields["itunes:title"], fields["media:title"]),
		link:    firstOf(fields["link"], fields["atom:link"], fields["permalink"]),
		content: firstOf(fields["content:encoded"], fields["atom:content"], fields["xhtml:body"]),
		summary: firstOf(fields["description"], fields["dc:description"], fields["itunes:summary"], fields["atom:summary"],
			fields["itunes:subtitle"], fields["media:description"]),
		enclosure: firstOf(fields["enclosure"], fields["media:content"]),
		published: firstOf(fields["pubdate"], fields["dc:date"], fields["atom:published"]),
		changed: latest(fields["pubdate"], fields["dc:date"], fields["dcterms:modified"], fields["dcterms:created"], fields["atom:published"],
			fields["atom:updated"]),
	}
	if r.within {
		r.listing.skip(firstOf(e.id, e.title, e.link), cutOff)
		return nil
	}
	r.add(e)
	return nil
}

// itemField reads one field of an item.
func (r *rss) itemField(fields map[string]string, relativeTo *url.URL, field xml.StartElement) (err error) {
	relativeTo = base(relativeTo, field)
	switch name := r.name(field); name {
	case "guid":
		fields[name], err = r.word()
		if !strings.EqualFold(attribute(field, "isPermaLink"), "false") && isWeb(fields[name]) {
			fields["permalink"] = fields[name]
		}
	case "link":
		word, err := r.word()
		fields[name] = resolve(relativeTo, firstOf(word, attribute(field, "href"), fields[name]))
		return err
	case "atom:link":
		if relation(field) == "alternate" {
			fields[name] = firstOf(fields[name], resolve(relativeTo, attribute(field, "href")))
		}
		return r.tokens.skip()
	case "enclosure", "media:content":
		fields[name] = firstOf(fields[name], resolve(relativeTo, attribute(field, "url")))
		return r.tokens.skip()
	case "pubdate", "dc:date", "dcterms:modified", "dcterms:created", "atom:published", "atom:updated", "dc:identifier":
		fields[name], err = r.word()
	case "title", "description":
		err = r.latest(fields, name, asMaybe)
	case "content:encoded":
		err = r.latest(fields, name, asHTML)
	case "media:group":
		return r.children(func(file xml.StartElement) error {
			if name := r.name(file); name != "media:title" && name != "media:description" {
				return r.tokens.skip()
			}
			return r.itemField(fields, relativeTo, file)
		})
	case "dc:title", "dc:description", "itunes:title", "itunes:summary", "itunes:subtitle":
		err = r.other(fields, name, asMaybe)
	case "atom:content", "atom:summary", "media:title", "media:description", "xhtml:body":
		err = r.other(fields, name, textOf(field))
	default:
		return r.tokens.skip()
	}
	return err
}

// latest reads a field of RSS. Of several, the last that has text counts.
func (r *rss) latest(fields map[string]string, name string, k kind) error {
	text, err := r.prose(k)
	fields[name] = firstOf(text, fields[name])
	return err
}

// other reads a field of another vocabulary. Of several, the first counts.
func (r *rss) other(fields map[string]string, name string, k kind) (err error) {
	if fields[name] != "" {
		return r.tokens.skip()
	}
	fields[name], err = r.prose(k)
	return err
}
