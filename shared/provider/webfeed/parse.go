package webfeed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// page turns a document into drafts. The page's State holds next, the validators for the next run.
func page(document []byte, config Config, next state) (connector.FetchedPage, error) {
	parsed, err := parse(document)
	if err != nil {
		return connector.FetchedPage{}, unreadable(err)
	}
	limit := config.MaxItems
	if limit == 0 {
		limit = defaultItems
	}
	p := connector.FetchedPage{Memories: []memory.Draft{}}
	for _, e := range parsed[:min(limit, len(parsed))] {
		p.Memories = append(p.Memories, draft(e))
	}
	p.State, err = json.Marshal(next)
	return p, err
}

// parse reads a document. It never loads external entities, and never expands entities that the document declares.
func parse(document []byte) (all []entry, err error) {
	document = bytes.TrimPrefix(bytes.TrimLeft(document, " \t\r\n"), []byte("\uFEFF"))
	if err := checkSize(document); err != nil {
		return nil, err
	}
	defer func() { // the third-party parser may panic on an untrusted document
		if r := recover(); r != nil {
			all, err = nil, fmt.Errorf("parser: %v", r)
		}
	}()
	return entries(document)
}

// draft returns an entry as a memory. An entry with neither an id nor a link stays without an id, and intake refuses it.
func draft(e entry) memory.Draft {
	d := memory.Draft{
		ExternalID: strings.TrimSpace(e.id), Kind: "entry", Title: line(text(e.title)), URL: strings.TrimSpace(e.link),
	}
	if d.ExternalID == "" {
		d.ExternalID = d.URL
	}
	d.Body = text(e.content)
	if d.Body == "" {
		d.Body = text(e.summary)
	}
	if d.Title == "" {
		d.Title = line(firstOf(d.Body, d.URL, d.ExternalID))
	}
	return d
}

func unreadable(err error) error {
	var size *sizeError
	if errors.As(err, &size) {
		return fault.New(fault.Unavailable, "the feed "+size.Error())
	}
	return fault.Wrap(fault.Unavailable, "the document is not a feed in RSS, Atom or JSON Feed", err)
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
