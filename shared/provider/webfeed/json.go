package webfeed

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"orgops/shared/provider/connector"

	unicodetext "orgops/shared/base/text"
)

// jsonItem holds what is read of an item of a JSON Feed. Each field has any type, so that a wrong one hurts no other field.
type jsonItem struct {
	ID            json.RawMessage `json:"id"`
	URL           json.RawMessage `json:"url"`
	ExternalURL   json.RawMessage `json:"external_url"`
	Title         json.RawMessage `json:"title"`
	ContentHTML   json.RawMessage `json:"content_html"`
	ContentText   json.RawMessage `json:"content_text"`
	Summary       json.RawMessage `json:"summary"`
	DatePublished json.RawMessage `json:"date_published"`
	DateModified  json.RawMessage `json:"date_modified"`
	Attachments   json.RawMessage `json:"attachments"`
}

var (
	errNoItems = errors.New("the JSON object has no list of items")
	errNoJSON  = errors.New("the document is not JSON")
)

// fromJSON reads the items of a JSON Feed, each on its own: an item that is not JSON hurts no other one.
func (l *listing) fromJSON(document []byte) error {
	s := splitter{document: document}
	if err := s.split(); err != nil {
		return err
	}
	switch {
	case !s.found && json.Valid(document):
		return errNoItems
	case !s.found:
		return errNoJSON
	}
	l.cut = s.depth > 0
	for _, raw := range s.items[:min(l.first, len(s.items))] {
		l.item(raw)
	}
	if s.depth > inItems && !l.full() {
		l.skip("", cutOff)
	}
	return nil
}

// maxLooked limits an item that is searched for the place of what is not valid Unicode, in bytes: decoding triples such bytes.
const maxLooked = 64 << 10

// item reads one item.
func (l *listing) item(raw json.RawMessage) {
	unicode := unicodetext.IsUnicode(raw)
	if !unicode && len(raw) > maxLooked {
		l.skip("", "the item "+unicodetext.NotUnicode)
		return
	}
	var i jsonItem
	if !bytes.HasPrefix(raw, []byte("{")) || json.Unmarshal(raw, &i) != nil {
		l.skip("", "the item is not a JSON object")
		return
	}
	if !unicode {
		l.skip(whole(word(i.ID)), connector.NotUnicode(raw))
		return
	}
	address := func(field json.RawMessage) string { return resolve(l.address, strings.TrimSpace(word(field))) }
	var files []json.RawMessage
	e := entry{
		id: word(i.ID), title: whole(word(i.Title)), link: firstOf(address(i.URL), address(i.ExternalURL)), summary: whole(word(i.Summary)),
		published: word(i.DatePublished), changed: latest(word(i.DatePublished), word(i.DateModified)),
	}
	if e.content = text(word(i.ContentHTML), asHTML); e.content == "" {
		e.content = whole(word(i.ContentText))
	}
	_ = json.Unmarshal(i.Attachments, &files) // anything else holds no files
	for _, raw := range files {
		var file struct {
			URL json.RawMessage `json:"url"`
		}
		_ = json.Unmarshal(raw, &file) // a file of another type has no address
		e.enclosure = firstOf(e.enclosure, address(file.URL))
	}
	l.add(e)
}

// maxNumber limits a number that stands for a text, in bytes.
const maxNumber = 64

// word returns a string, or the text of a number: the standard asks readers to take a number for an id too. It returns "" for
// anything else.
func word(field json.RawMessage) string {
	if len(field) == 0 {
		return ""
	}
	switch c := field[0]; {
	case c == '"':
		var s string
		_ = json.Unmarshal(field, &s) // it is a string, which the decoder has read
		return s
	case (c == '-' || '0' <= c && c <= '9') && len(field) <= maxNumber:
		return string(field)
	}
	return ""
}
