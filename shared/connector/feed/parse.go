package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/memory"
)

// page is the drafts of a document.
func page(document []byte, config Config, is state) (connector.FetchedPage, error) {
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
		d, ok := draft(e)
		if !ok {
			p.Failed++
			continue
		}
		p.Memories = append(p.Memories, d)
	}
	p.State, err = json.Marshal(is)
	return p, err
}

// parse reads a document. External entities are never loaded, and those that a document declares never expanded.
func parse(document []byte) (all []entry, err error) {
	document = bytes.TrimPrefix(bytes.TrimLeft(document, " \t\r\n"), []byte("\uFEFF"))
	if err := checkSize(document); err != nil {
		return nil, err
	}
	defer func() { // the parser is not ours, and the document is a stranger's
		if r := recover(); r != nil {
			all, err = nil, fmt.Errorf("parser: %v", r)
		}
	}()
	return entries(document)
}

// draft is an entry as a memory; ok is false for one that nothing names.
func draft(e entry) (d memory.Draft, ok bool) {
	d = memory.Draft{
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
	return d, len(d.Check("")) == 0
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
