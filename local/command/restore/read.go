// Package restore makes a company from its export, on a deployment that does not have the company.
package restore

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/export"
	"orgops/shared/storage/store"
)

// maxLine limits the bytes of a line: an item's largest body with its key and metadata.
const maxLine = store.MaxBody + 8<<10

// line holds an item's line, or the line that ends a page.
type line struct {
	export.Line
	Page *export.PageEnd `json:"page"`
}

// page follows the lines of an export from one end of a page to the next.
type page struct {
	number int // lines read
	last   export.PageEnd
	key    string // of the last item
	items  int
	sum    hash.Hash
	whole  bool // the last page has ended
	forms  map[string][]form
}

// read calls each with every item of an export, in the order of the file. It returns an error that names the line if the file is
// damaged, and an error if a part is missing or ctx is done. Items come before the end of their page, so a caller that writes has to read once
// before.
func read(ctx context.Context, from io.Reader, each func(export.Line) error) error {
	in := bufio.NewReaderSize(from, 64<<10)
	p := &page{sum: sha256.New(), forms: forms()}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := next(in)
		if errors.Is(err, io.EOF) {
			break
		}
		p.number++
		if err == nil {
			err = p.take(text, each)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", p.number, err)
		}
	}
	if !p.whole {
		return fmt.Errorf("the export ends after line %d, before its last page does; export the company again", p.number)
	}
	return nil
}

// next returns the next line with its end.
func next(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(text) <= maxLine:
			continue
		case len(text) > maxLine:
			return nil, fmt.Errorf("is longer than %d bytes, which no item is", maxLine)
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, nil
		}
		return text, err
	}
}

func (p *page) take(text []byte, each func(export.Line) error) error {
	var l line
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return fmt.Errorf("is no line of an export: %w", err)
	}
	if p.whole {
		return errors.New("comes after the end of the last page")
	}
	if l.Page != nil {
		return p.end(*l.Page)
	}
	if err := p.check(l.Line); err != nil {
		return err
	}
	p.sum.Write(text)
	p.items, p.key = p.items+1, l.Key
	return each(l.Line)
}

// check refuses a line that is no item of an export.
func (p *page) check(l export.Line) error {
	var body map[string]json.RawMessage
	forms, ok := p.forms[l.Entity]
	switch {
	case !ok:
		return fmt.Errorf("the entity %q is not exported, or is one of a newer release", l.Entity)
	case l.Key == "" || l.Key <= p.key:
		return fmt.Errorf("the key %q does not follow %q", l.Key, p.key)
	case json.Unmarshal(l.Body, &body) != nil || body == nil:
		return fmt.Errorf("the body of %s is no JSON object", l.Key)
	}
	return checkKey(l, forms, body)
}

// end compares a page with what its end says of it.
func (p *page) end(e export.PageEnd) error {
	switch {
	case e.After != p.last.Next:
		return fmt.Errorf("a page is missing: the page begins after %q, and the one before ends at %q", e.After, p.last.Next)
	case e.Items != p.items:
		return fmt.Errorf("the page has %d items, and its end counts %d", p.items, e.Items)
	case e.SHA256 != hex.EncodeToString(p.sum.Sum(nil)):
		return errors.New("the page is damaged: its SHA-256 is not the one of its end")
	}
	p.last, p.items, p.whole = e, 0, e.Next == ""
	p.sum.Reset()
	return nil
}

// survey reads an export from end to end, and returns its company.
func survey(ctx context.Context, from io.Reader, each func(export.Line) error) (is company.Company, err error) {
	found := 0
	err = read(ctx, from, func(l export.Line) error {
		if l.Entity == company.Entity {
			found++
			if err := json.Unmarshal(l.Body, &is); err != nil || l.Key != company.Key {
				return errors.New("the company cannot be read")
			}
		}
		return each(l)
	})
	switch {
	case err != nil:
		return is, err
	case found != 1 || !id.Valid(is.ID) || is.Name == "":
		return is, fmt.Errorf("the export has %d companies; it needs one, with id and name", found)
	case is.Erasing != nil:
		return is, errors.New("the company was being erased when it was exported")
	}
	return is, nil
}
