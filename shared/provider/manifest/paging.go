package manifest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
)

// maxEmpty is how many pages without a record a list with cursors may have in a row, unless it says itself that it goes on. The last of
// them ends the list.
const maxEmpty = 3

// next returns the checkpoint behind a page of so many records. It has no address at the end of the stream.
func (r *run) next(document []byte, header http.Header, read records) (after checkpoint, err error) {
	at := r.at
	after = checkpoint{
		Stream: at.Stream, Pages: at.Pages + 1, Items: at.Items + read.count,
		Restarted: at.Restarted, Since: at.Since, State: at.State, Above: at.Above,
	}
	switch r.Paging.Type { // the others tell a page by its address alone
	case PagedByCursor, pagedByLastID, PagedByOffset, pagedByNo:
		after.Page = r.shown(document)
	}
	if read.count == 0 {
		after.Empty = at.Empty + 1
	}
	ended, told, err := r.ended(document)
	if err != nil || ended {
		return after, err
	}
	if err := r.behind(document, header, read, told, &after); err != nil || after.Address == "" {
		return after, err
	}
	if r.Auth != nil && r.Auth.Type == inQuery { // the server may repeat the token in a link
		after.Address = without(after.Address, r.Auth.Name)
	}
	page := after.Page
	if read.count == 0 { // such pages look alike, though the list goes on
		page += strconv.Itoa(r.number(at))
	}
	trail, repeated := at.Trail.Add(r.called(at, page))
	_, again := trail.Add(r.called(after, ""))
	if repeated || again || after.Pages >= maxPages {
		return after, fault.Wrap(fault.Unavailable, r.words.List+" does not end, because its pages repeat; check the paging", connector.ErrEndless)
	}
	after.Trail = trail
	return after, nil
}

// linked returns the checkpoint behind a first page that has not changed. Only a header leads behind such a page: what its document says
// is as before.
func (r *run) linked(header http.Header) (checkpoint, error) {
	if r.Paging.Type != PagedByLink || r.Paging.More != "" || r.Paging.Last != "" {
		return checkpoint{}, nil
	}
	return r.next(nil, header, records{})
}

// repeats reports whether a page of a list that counts its pages or its records is the one before again. Some servers answer each number
// behind the last page so, and this ends the list as an empty page does. A second page that is the first shows that the server ignores
// the number, and a list that says itself where it ends goes on.
func (r *run) repeats(document []byte) bool {
	p := r.Paging
	counts := p.Type == pagedByNo || p.Type == PagedByOffset
	return counts && p.More == "" && p.Last == "" && r.at.Pages > 1 && r.at.Page == r.shown(document)
}

// shown identifies a page by its records. What else a document says, such as the number that was asked for, tells no pages apart.
func (r *run) shown(document []byte) string {
	return connector.Digest(find(document, r.Records))[:8]
}

// fills reports whether a first page of so many records may be full, so that the link to a next one can appear while the page stays as it
// is. The size of a page is a round number, or stands in the query.
func (r *run) fills(count int) bool {
	if r.Paging.Type != PagedByLink || count == 0 {
		return false
	}
	for _, values := range r.base().Query() {
		if slices.Contains(values, strconv.Itoa(count)) {
			return true
		}
	}
	return count%4 == 0 || count%5 == 0
}

// called returns what a trail knows a page by: how it was asked for, or, where only a number changes, what it holds.
func (r *run) called(at checkpoint, page string) string {
	name := at.Address
	if t := r.Paging.Type; (t == PagedByOffset || t == pagedByNo) && page != "" {
		name = page
	}
	if at.Cursor != "" {
		name += "\n" + at.Cursor
	}
	if at.Stream > 0 {
		name = strconv.Itoa(at.Stream) + "\n" + name
	}
	return name
}

// ended reports whether a page says that it is the last one. told is false for a stream that has no member which says so. A page that
// lacks the member proves nothing.
func (r *run) ended(document []byte) (ended, told bool, err error) {
	p := r.Paging
	pointer, last := p.More, "false"
	if p.Last != "" {
		pointer, last = p.Last, "true"
	}
	if pointer == "" {
		return false, false, nil
	}
	switch said := string(find(document, pointer)); said {
	case "true", "false":
		return said == last, true, nil
	}
	return false, true, fault.Newf(fault.Unavailable, "the page does not say at %s whether there is a next one; check the paging", pointer)
}

// behind sets the address, or the cursor, of the page behind this one. The address stays empty at the end of the stream. It is an error
// if the page has told that there is a next one, and not where.
func (r *run) behind(document []byte, header http.Header, read records, told bool, after *checkpoint) error {
	if err := r.toNext(document, header, read, told, after); err != nil || after.Address != "" || !told {
		return err
	}
	return fault.Newf(fault.Unavailable, "%s says that there is a next page, but not where it begins", r.words.List)
}

// toNext does what behind does, except that it takes no next page for no error.
func (r *run) toNext(document []byte, header http.Header, read records, told bool, after *checkpoint) (err error) {
	start, p := r.first(), r.Paging
	switch p.Type {
	case PagedByLink:
		after.Address, err = connector.NextOnHost(r.base(), header)
		return err
	case pagedByNext:
		target, err := r.cursor(find(document, p.Pointer))
		if err == nil && target != "" {
			after.Address, err = connector.OnHost(r.base(), target)
		}
		return err
	case pagedByNo, PagedByOffset:
		if read.count == 0 && !told {
			return nil
		}
		if after.Address = start; p.In != inBody {
			after.Address = with(start, p.Parameter, strconv.Itoa(r.number(*after)))
		}
		return nil
	case PagedByCursor, pagedByLastID:
		return r.atCursor(document, start, read, told, after)
	}
	return nil
}

// number returns what asks for the page of a checkpoint, of a list that counts its pages or its records.
func (r *run) number(at checkpoint) int {
	if r.Paging.Type == pagedByNo {
		return r.Paging.First + at.Pages
	}
	return at.Items
}

// atCursor sets the page that the cursor leads to. Some lists repeat the last cursor, and some give one with every page. So the list ends
// where a cursor leads back to its own page and that page differs from the one before, and with several pages without records. A server
// that ignores the cursor gives the same page again. Many APIs give the whole address of the next page as the cursor.
func (r *run) atCursor(document []byte, start string, read records, told bool, after *checkpoint) error {
	raw := find(document, r.Paging.Pointer)
	if r.Paging.Type == pagedByLastID {
		raw = find(read.last, r.Paging.Pointer)
	}
	cursor, err := r.cursor(raw)
	switch {
	case err != nil:
		return err
	case cursor == "" && read.count > 0 && r.Paging.Type == pagedByLastID:
		return fault.Newf(fault.Unavailable, "the last record has no %s, so the next page is unknown; check %s", r.Paging.Pointer, r.words.Cursor)
	case cursor == "", after.Empty == maxEmpty && !told:
		return nil
	case r.Paging.In == inBody:
		after.Address, after.Cursor = start, cursor
	case strings.HasPrefix(cursor, "https://") || strings.HasPrefix(cursor, "http://"):
		after.Address, err = connector.OnHost(r.base(), cursor)
	default:
		after.Address = with(start, r.Paging.Parameter, cursor)
	}
	same := after.Address == r.at.Address && after.Cursor == r.at.Cursor
	if same && !told && (after.Empty > 0 || after.Page != r.at.Page) {
		after.Address = ""
	}
	return err
}

// cursor returns the cursor in a value, or "" on the last page. An object or a list holds no cursor itself, so it does not prove
// that the list has ended.
func (r *run) cursor(raw json.RawMessage) (string, error) {
	switch {
	case string(raw) == "0" && r.Paging.Type == pagedByLastID: // an id
	case len(raw) == 0, string(raw) == "false", string(raw) == "0": // the last two are the words of some APIs for the last page
		return "", nil
	case raw[0] == '{', raw[0] == '[', raw[0] == 't':
		return "", fault.Newf(fault.Unavailable, "the value at %s is no text and no number, so the next page is unknown; check %s", r.words.Cursor, r.words.Cursor)
	}
	cursor := textOf(raw)
	return cursor, connector.CheckCursor(raw, cursor)
}

// shifting reports whether the page was asked for by a number, or by an address, which often holds a number.
func (r *run) shifting() bool {
	return r.at.Pages > 0 && (r.shifts || r.at.Cursor == "" && r.at.Address != with(r.first(), r.Paging.Parameter, r.base().Query().Get(r.Paging.Parameter)))
}

// base returns the page's address, to which the next one may be relative.
func (r *run) base() *url.URL {
	base, _ := url.Parse(r.at.Address) // an address that was fetched can be parsed
	return base
}

// first returns the address of the stream's first page in this run.
func (r *run) first() string {
	address := r.address(r.stream)
	if i := r.Incremental; i != nil && i.In != inBody && !r.at.Since.IsZero() {
		address = with(address, i.Parameter, i.text(r.at.Since))
	}
	return address
}
