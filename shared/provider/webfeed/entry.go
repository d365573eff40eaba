package webfeed

import (
	"bytes"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/atom"
	ext "github.com/mmcdole/gofeed/extensions"
	jsonfeed "github.com/mmcdole/gofeed/json"
	"github.com/mmcdole/gofeed/rss"
)

// entry holds the fields that become a memory. This package avoids gofeed's universal feed, which links more code and
// searches every item's HTML for pictures.
type entry struct{ id, title, link, content, summary string }

// maxProlog limits how many bytes of a document are searched for its format.
const maxProlog = 4096

// entries parses a document in RSS, Atom or JSON Feed.
func entries(document []byte) ([]entry, error) {
	switch from := bytes.NewReader(document); gofeed.DetectFeedType(bytes.NewReader(document[:min(maxProlog, len(document))])) {
	case gofeed.FeedTypeRSS:
		f, err := (&rss.Parser{}).Parse(from)
		if err != nil {
			return nil, err
		}
		return convert(f.Items, fromRSS), nil
	case gofeed.FeedTypeAtom:
		f, err := (&atom.Parser{}).Parse(from)
		if err != nil {
			return nil, err
		}
		return convert(f.Entries, fromAtom), nil
	case gofeed.FeedTypeJSON:
		f, err := (&jsonfeed.Parser{}).Parse(from)
		if err != nil {
			return nil, err
		}
		return convert(f.Items, fromJSON), nil
	default:
		return nil, gofeed.ErrFeedTypeNotDetected
	}
}

func convert[T any](items []T, from func(T) entry) []entry {
	all := make([]entry, 0, len(items))
	for _, i := range items {
		all = append(all, from(i))
	}
	return all
}

// fromRSS converts an RSS item. If the item's own elements lack a field, it reads Dublin Core, iTunes and Atom elements.
func fromRSS(i *rss.Item) entry {
	e := entry{title: i.Title, link: i.Link, content: firstOf(i.Content, atomElement(i.Extensions, "content")), summary: i.Description}
	if i.GUID != nil {
		e.id = i.GUID.Value
	}
	if dc := i.DublinCoreExt; dc != nil {
		e.title, e.summary = firstOf(e.title, firstOf(dc.Title...)), firstOf(e.summary, firstOf(dc.Description...))
	}
	if i.ITunesExt != nil {
		e.summary = firstOf(e.summary, i.ITunesExt.Summary)
	}
	e.summary = firstOf(e.summary, atomElement(i.Extensions, "summary"))
	return e
}

// atomElement returns the text of an Atom element in an RSS item, or "" if the item lacks it.
func atomElement(all ext.Extensions, name string) string {
	for _, prefix := range []string{"atom", "atom10", "atom03"} {
		if found := all[prefix][name]; len(found) > 0 {
			return found[0].Value
		}
	}
	return ""
}

func fromAtom(a *atom.Entry) entry {
	e := entry{id: a.ID, title: a.Title, summary: a.Summary}
	if a.Content != nil {
		e.content = a.Content.Value
	}
	for _, l := range a.Links {
		if l.Rel == "alternate" {
			e.link = l.Href
			break
		}
	}
	return e
}

func fromJSON(i *jsonfeed.Item) entry {
	if i == nil { // the list holds null; intake refuses an entry without an id
		return entry{}
	}
	return entry{id: i.ID, title: i.Title, link: i.URL, content: firstOf(i.ContentHTML, i.ContentText), summary: i.Summary}
}
