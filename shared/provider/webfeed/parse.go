package webfeed

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	truncate "orgops/shared/base/text"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// source says where a document comes from, and in what form.
type source struct {
	address     *url.URL
	contentType string
	last        state // of the run before
}

// page turns a document into drafts. The page's State holds next, for the next run.
func page(document []byte, config Config, from source, next state) (connector.FetchedPage, error) {
	l := &listing{address: from.address, first: config.MaxItems}
	if l.first == 0 {
		l.first = defaultItems
	}
	if err := l.parse(document, from.contentType); err != nil {
		return connector.FetchedPage{}, unreadable(err)
	}
	p := connector.FetchedPage{Memories: l.drafts(), Skipped: l.skipped}
	for _, e := range l.all {
		p.WarnOfTime("the time", firstOf(e.id, e.title, e.link), e.changed)
	}
	bare := len(l.all)+len(l.skipped) == 0
	if bare {
		p.Warnings = append(p.Warnings, empty(from.last))
	}
	if l.cut {
		p.Warnings = append(p.Warnings, warnCut)
	}
	if bare || l.cut {
		next.Validators = connector.Validators{} // so that the next run looks again, and tells it again
	}
	if next.Entries = len(l.all); next.Entries == 0 {
		next.Entries = from.last.Entries
	}
	var err error
	p.State, err = json.Marshal(next)
	return p, err
}

// empty says that a feed has no entries.
func empty(last state) string {
	if last.Entries > 0 {
		return fmt.Sprintf("the feed has no entries any more, after %d before; their memories stay. Check the feed, and its url", last.Entries)
	}
	return "the feed can be read, but has no entries; check its url, or wait for the first one"
}

// parse reads a document.
func (l *listing) parse(document []byte, contentType string) (err error) {
	defer func() { // a panic would end the process for all companies
		if r := recover(); r != nil {
			err = fmt.Errorf("parser: %v", r)
		}
	}()
	if document, err = decode(document, contentType); err != nil {
		return err
	}
	return l.entries(document)
}

// drafts returns the entries as memories. An entry that holds nothing is left out.
func (l *listing) drafts() []memory.Draft {
	all := []memory.Draft{}
	for _, e := range l.all {
		if d, ok := draft(e); ok {
			all = append(all, d)
		} else {
			l.skip("", "the entry has no title, no text and no link")
		}
	}
	return all
}

// warnCut warns of a document that lacks its end.
const warnCut = "the document ends before its last element does; it may be cut off"

// cutOff is why an entry is left out that the document's end interrupts.
const cutOff = "the document ends in the middle of the entry"

// draft returns an entry as a memory; ok is false for an empty entry.
func draft(e entry) (d memory.Draft, ok bool) {
	link := strings.TrimSpace(firstOf(e.link, e.enclosure))
	d = memory.Draft{Kind: "entry", Title: line(e.title), URL: link, Body: firstOf(e.content, e.summary, e.described), UpdatedAt: e.changed.At}
	if d.ExternalID = e.externalID(d.Title, d.Body, link); d.ExternalID == "" {
		return d, false
	}
	if d.Title == "" {
		d.Title = firstOf(line(beginning(d.Body)), beginning(link), beginning(d.ExternalID))
	}
	return d, true
}

// maxID limits an id that a memory keeps, in bytes.
const maxID = 512

// externalID returns what identifies an entry: its id, its link, or a digest of what stays of an entry that has neither. The digest is
// that of the title and the time of publication, or of the title and the text without one. A long id is kept as its digest. An
// id with characters that could not be read does not count: it could be that of several entries.
func (e entry) externalID(title, body, link string) string {
	for _, given := range []string{strings.TrimSpace(e.id), link} {
		switch {
		case given == "" || strings.ContainsRune(given, '\uFFFD'):
		case len(given) > maxID:
			return digest(given)
		default:
			return given
		}
	}
	switch {
	case title == "" && body == "":
		return ""
	case title != "" && e.published != "":
		return digest(title, e.published)
	}
	return digest(title, body)
}

func digest(parts ...string) string {
	return "urn:uuid:" + id.Of(append([]string{"feed-entry"}, parts...)...)
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// unreadable returns the error that the company sees.
func unreadable(err error) error {
	var size *sizeError
	var told *fault.Error
	switch {
	case errors.As(err, &told):
		return err
	case errors.As(err, &size):
		return fault.New(fault.Unavailable, "the feed "+size.Error())
	}
	reason := errors.New(truncate.Truncate(err.Error(), maxReason)) // it may quote the document
	return fault.Wrap(fault.Unavailable, explain(err), reason)
}
