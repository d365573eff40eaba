package webfeed

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"orgops/shared/base/fault"
	truncate "orgops/shared/base/text"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
)

// errLarge and errDecoded refuse a document that is too large as it is, or in UTF-8.
var (
	errLarge   = fault.Newf(fault.Unavailable, "the feed is larger than %d MiB", maxDocument>>20)
	errDecoded = fault.Newf(fault.Unavailable, "the feed is larger than %d MiB in UTF-8", maxDocument>>20)
)

// page turns a document into drafts. The page's State holds next, the validators for the next run.
func page(document []byte, config Config, next state) (connector.FetchedPage, error) {
	first := config.MaxItems
	if first == 0 {
		first = defaultItems
	}
	parsed, err := parse(document, first)
	if err != nil {
		return connector.FetchedPage{}, unreadable(err)
	}
	p := connector.FetchedPage{Memories: []memory.Draft{}}
	for _, e := range parsed {
		p.Memories = append(p.Memories, draft(e))
	}
	p.State, err = json.Marshal(next)
	return p, err
}

// parse reads a document and returns its first entries.
func parse(document []byte, first int) (all []entry, err error) {
	defer func() { // a panic would end the process for all companies
		if r := recover(); r != nil {
			all, err = nil, fmt.Errorf("parser: %v", r)
		}
	}()
	if document, err = decode(document); err != nil {
		return nil, err
	}
	return entries(document, first)
}

// draft returns an entry as a memory. An entry with neither an id nor a link stays without an id, and intake refuses it.
func draft(e entry) memory.Draft {
	d := memory.Draft{
		ExternalID: strings.TrimSpace(e.id), Kind: "entry", Title: line(e.title), URL: strings.TrimSpace(e.link), Body: firstOf(e.content, e.summary),
	}
	if d.ExternalID == "" {
		d.ExternalID = d.URL
	}
	if d.Title == "" {
		d.Title = line(firstOf(d.Body, d.URL, d.ExternalID))
	}
	return d
}

// maxReason limits the parser's reason, which is logged, in bytes.
const maxReason = 200

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
	return fault.Wrap(fault.Unavailable, "the document is not a feed in RSS, Atom or JSON Feed", reason)
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
