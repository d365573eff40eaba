package feed

import (
	"bytes"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/atom"
	ext "github.com/mmcdole/gofeed/extensions"
	jsonfeed "github.com/mmcdole/gofeed/json"
	"github.com/mmcdole/gofeed/rss"
)

// entry is what a memory is made of. The parser's universal feed has much more, and links and does much more for it: it
// looks for pictures in every item's HTML.
type entry struct{ id, title, link, content, summary string }

// maxProlog is how far into a document its kind is looked for.
const maxProlog = 4096

// entries reads a document of any kind.
func entries(document []byte) ([]entry, error) {
	switch from := bytes.NewReader(document); gofeed.DetectFeedType(bytes.NewReader(document[:min(maxProlog, len(document))])) {
	case gofeed.FeedTypeRSS:
		f, err := (&rss.Parser{}).Parse(from)
		if err != nil {
			return nil, err
		}
		return each(f.Items, ofRSS), nil
	case gofeed.FeedTypeAtom:
		f, err := (&atom.Parser{}).Parse(from)
		if err != nil {
			return nil, err
		}
		return each(f.Entries, ofAtom), nil
	case gofeed.FeedTypeJSON:
		f, err := (&jsonfeed.Parser{}).Parse(from)
		if err != nil {
			return nil, err
		}
		return each(f.Items, ofJSON), nil
	default:
		return nil, gofeed.ErrFeedTypeNotDetected
	}
}

func each[T any](items []T, of func(T) entry) []entry {
	all := make([]entry, 0, len(items))
	for _, i := range items {
		all = append(all, of(i))
	}
	return all
}

// ofRSS takes from Dublin Core, iTunes' elements and Atom's what the item does not say in its own.
func ofRSS(i *rss.Item) entry {
	e := entry{title: i.Title, link: i.Link, content: firstOf(i.Content, inAtom(i.Extensions, "content")), summary: i.Description}
	if i.GUID != nil {
		e.id = i.GUID.Value
	}
	if dc := i.DublinCoreExt; dc != nil {
		e.title, e.summary = firstOf(e.title, firstOf(dc.Title...)), firstOf(e.summary, firstOf(dc.Description...))
	}
	if i.ITunesExt != nil {
		e.summary = firstOf(e.summary, i.ITunesExt.Summary)
	}
	e.summary = firstOf(e.summary, inAtom(i.Extensions, "summary"))
	return e
}

// inAtom is an element of Atom in an item of RSS.
func inAtom(all ext.Extensions, name string) string {
	for _, prefix := range []string{"atom", "atom10", "atom03"} {
		if found := all[prefix][name]; len(found) > 0 {
			return found[0].Value
		}
	}
	return ""
}

func ofAtom(a *atom.Entry) entry {
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

func ofJSON(i *jsonfeed.Item) entry {
	if i == nil { // null in the list: an entry that nothing names
		return entry{}
	}
	return entry{id: i.ID, title: i.Title, link: i.URL, content: firstOf(i.ContentHTML, i.ContentText), summary: i.Summary}
}
