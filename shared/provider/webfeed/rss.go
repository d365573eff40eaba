package webfeed

import (
	"encoding/xml"
	"net/url"
	"strings"
)

// rss reads the items of a document in RSS 0.9 to 2.0. They are children of the root or of its channel.
type rss struct {
	*tokens
	native string // the namespace of the root, which a publisher may have invented
	first  int    // how many items are kept
	all    []entry
}

func fromRSS(t *tokens, root xml.StartElement, first int) ([]entry, error) {
	r := &rss{tokens: t, native: root.Name.Space, first: first}
	switch vocabulary(root.Name.Space) {
	case "dc", "content", "itunes", "atom":
		r.native = ""
	}
	err := r.items(base(nil, root), true)
	return r.all, err
}

// name returns the name of an element in lower case, with the usual prefix if it is not of RSS.
func (r *rss) name(start xml.StartElement) string {
	local := strings.ToLower(start.Name.Local)
	prefix := vocabulary(start.Name.Space)
	if prefix == "" || start.Name.Space == r.native {
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
			return r.item(relativeTo, start)
		}
		return r.skip()
	})
}

// item reads an item.
func (r *rss) item(relativeTo *url.URL, start xml.StartElement) error {
	if err := r.entry(); err != nil {
		return err
	}
	if len(r.all) >= r.first {
		return r.skip()
	}
	fields := map[string]string{}
	err := r.children(func(field xml.StartElement) (err error) {
		switch name := r.name(field); name {
		case "guid":
			fields[name], err = r.word()
		case "link":
			if fields[name], err = r.word(); fields[name] == "" {
				fields[name] = attribute(field, "href")
			}
		case "title", "description", "content:encoded":
			fields[name], err = r.prose(false)
		case "dc:title", "dc:description", "itunes:summary", "atom:content", "atom:summary":
			if fields[name] != "" {
				return r.skip()
			}
			fields[name], err = r.prose(false)
		default:
			return r.skip()
		}
		return err
	})
	r.all = append(r.all, entry{
		id:      fields["guid"],
		title:   firstOf(fields["title"], fields["dc:title"]),
		link:    resolve(base(relativeTo, start), fields["link"]),
		content: firstOf(fields["content:encoded"], fields["atom:content"]),
		summary: firstOf(fields["description"], fields["dc:description"], fields["itunes:summary"], fields["atom:summary"]),
	})
	return err
}
