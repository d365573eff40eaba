package httplist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// Limits of one fetch.
const (
	timeout     = 30 * time.Second
	maxDocument = 8 << 20
	maxItems    = 1000  // objects of a page
	maxPages    = 10000 // of a run; more is likely to be a server that repeats itself
)

// state holds the validators of a list that had one page.
type state = connector.Validators

// checkpoint is the next page: its address, and what came before.
type checkpoint struct {
	Address string          `json:"address"`
	Pages   int             `json:"pages"`
	Items   int             `json:"items"`
	Trail   connector.Trail `json:"trail,omitzero"`  // the pages
	Page    string          `json:"page,omitempty"`  // identifies what the last page held
	Empty   int             `json:"empty,omitempty"` // how many of the last pages had no object
}

// Fetch implements connector.Source. Every run reads the whole list, unless it finds a list of one page unchanged. Pages by offset
// shift, and so may those by Link, whose addresses often hold numbers. An offset list always has a second page, if only an
// empty one: a deletion after the first page can make it empty.
//
// A 429, and a 503 with Retry-After, returns a *connector.ThrottledError. A 401 or 403 returns an error that is
// connector.ErrRefused, and any other answer that is not the list returns connector.ErrNotListed. Pages that repeat return
// connector.ErrEndless. The error is a *fault.Error whose detail says what was seen and what to do.
func (c *Connector) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	config := read(f.Config)
	at := checkpoint{Address: config.URL}
	if len(f.Checkpoint) > 0 {
		if err := json.Unmarshal(f.Checkpoint, &at); err != nil {
			return connector.FetchedPage{}, fmt.Errorf("checkpoint of http: %w", err)
		}
	}
	var last state
	if !f.Full && at.Pages == 0 && len(f.State) > 0 {
		_ = json.Unmarshal(f.State, &last) // without validators the list is fetched again
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.get(ctx, config, f.Credentials, at.Address, last)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		return connector.FetchedPage{State: f.State}, nil
	}
	document, err := outbound.ReadBody(resp, maxDocument)
	switch {
	case errors.Is(err, outbound.ErrTooLarge):
		return connector.FetchedPage{}, fault.New(fault.Unavailable, "the page is larger than 8 MiB; ask for smaller pages in the url")
	case err != nil:
		return connector.FetchedPage{}, unreachable(err)
	}
	document = connector.Page(document)
	if problem := config.unlisted(document); problem != "" {
		return connector.FetchedPage{}, connector.NotListed(listName, resp, document, f.Credentials, problem)
	}
	return config.page(document, resp.Header, at)
}

// page reads the objects of a document, and finds the next page.
func (config Config) page(document []byte, header http.Header, at checkpoint) (page connector.FetchedPage, err error) {
	count, err := config.items(document, &page)
	if err != nil {
		return page, err
	}
	page.Shifting = at.Pages > 0 && !config.atCursor(at)
	next, err := config.next(document, header, at, count)
	if err != nil {
		return page, err
	}
	if next.Address != "" {
		page.Checkpoint, err = json.Marshal(next)
		return page, err
	}
	kept := state{}
	if at.Pages == 0 {
		kept = connector.ValidatorsOf(header)
	}
	page.State, err = json.Marshal(kept)
	return page, err
}

// maxEmpty is how many pages without an object a list with cursors may have in a row. The last of them ends the list.
const maxEmpty = 3

// next returns the checkpoint behind a page of so many objects. It has no address at the end of the list.
func (config Config) next(document []byte, header http.Header, at checkpoint, count int) (after checkpoint, err error) {
	after = checkpoint{Pages: at.Pages + 1, Items: at.Items + count, Page: connector.Digest(document)[:8]}
	if count == 0 {
		after.Empty = at.Empty + 1
	}
	page := at.Address // what the trail knows the page by
	switch config.Paging {
	case pagedByCursor:
		after.Address, err = config.behind(document, at, after)
	case pagedByNo:
		if page = after.Page; count > 0 {
			after.Address = with(config.URL, config.Parameter, strconv.Itoa(after.Items))
		}
	default:
		after.Address, err = config.linked(header, at)
	}
	if err != nil || after.Address == "" {
		return after, err
	}
	trail, repeated := at.Trail.Add(page)
	if _, again := trail.Add(after.Address); repeated || again || after.Pages >= maxPages {
		return after, fault.Wrap(fault.Unavailable, "the list does not end, because its pages repeat; check the paging", connector.ErrEndless)
	}
	after.Trail = trail
	return after, nil
}

// behind returns the address that the cursor in a page leads to, or "" at the end of the list. Some lists repeat the last
// cursor, and some give one with every page. So the list ends where a cursor leads back to its own page and that page differs
// from the one before, and with several pages without objects. A server that ignores the cursor gives the same page again. Many
// APIs give the whole address of the next page as the cursor.
func (config Config) behind(document []byte, at, after checkpoint) (string, error) {
	cursor, err := config.cursor(document)
	if err != nil || cursor == "" || after.Empty == maxEmpty {
		return "", err
	}
	address := with(config.URL, config.Parameter, cursor)
	if strings.HasPrefix(cursor, "https://") || strings.HasPrefix(cursor, "http://") {
		address, err = connector.OnHost(at.base(), cursor)
	}
	if address == at.Address && (after.Empty > 0 || after.Page != at.Page) {
		return "", nil
	}
	return address, err
}

// cursor returns the cursor in a document, or "" on the last page. An object or a list holds no cursor itself, so it does not prove
// that the list has ended.
func (config Config) cursor(document []byte) (string, error) {
	raw := find(document, config.CursorPath)
	switch {
	case len(raw) == 0, string(raw) == "false", string(raw) == "0": // the last two are the words of some APIs for the last page
		return "", nil
	case raw[0] == '{', raw[0] == '[', raw[0] == 't':
		return "", fault.New(fault.Unavailable, "the value at cursorPath is no text and no number, so the next page is unknown; check cursorPath")
	}
	cursor := text(raw)
	return cursor, connector.CheckCursor(raw, cursor)
}

// atCursor reports whether a page was asked for by a cursor. A whole address of a next page often holds the page's number.
func (config Config) atCursor(at checkpoint) bool {
	return config.Paging == pagedByCursor && at.Address == with(config.URL, config.Parameter, at.base().Query().Get(config.Parameter))
}

// base returns the page's address, to which the next one may be relative.
func (at checkpoint) base() *url.URL {
	base, _ := url.Parse(at.Address) // an address that was fetched can be parsed
	return base
}

// linked returns the address of the next page by the Link header. It follows links to the configured host only, because the
// credentials go along.
func (config Config) linked(header http.Header, at checkpoint) (string, error) {
	return connector.NextOnHost(at.base(), header)
}

// with sets a query parameter of an address. The rest of the query stays byte for byte: a server may read what Go does not, such
// as a semicolon.
func with(address, parameter, value string) string {
	address, _, _ = strings.Cut(address, "#")
	path, query, _ := strings.Cut(address, "?")
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(name); part != "" && (err != nil || decoded != parameter) {
			kept = append(kept, part)
		}
	}
	return path + "?" + strings.Join(append(kept, url.QueryEscape(parameter)+"="+url.QueryEscape(value)), "&")
}

func (c *Connector) get(ctx context.Context, config Config, credentials map[string]string, address string, last state) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the list's url is not a url")
	}
	switch config.Auth {
	case bearer:
		req.Header.Set("Authorization", "Bearer "+credentials[tokenField])
	case basic:
		req.SetBasicAuth(credentials[userField], credentials[passwordField])
	case inHeader:
		req.Header.Set(config.Header, credentials[tokenField])
	}
	req.Header.Set("User-Agent", "orgops-http")
	req.Header.Set("Accept", "application/json")
	last.Set(req.Header)
	resp, err := c.client.Document(req, maxDocument)
	if err != nil {
		return nil, unreachable(err)
	}
	if err := c.check(resp, last != (state{})); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// listName names the list in errors.
const listName = "the list"

// check returns nil for a 200, and for a 304 that was asked for. Otherwise it returns an error that says why the answer holds no list.
func (c *Connector) check(resp *http.Response, asked bool) error {
	if err := connector.Throttled(resp, c.now()); err != nil {
		return err
	}
	if s := resp.StatusCode; s == http.StatusUnauthorized || s == http.StatusForbidden {
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("the list answers %d; check the credentials", s), connector.ErrRefused)
	}
	return connector.Status(listName, resp, asked)
}

func unreachable(err error) error {
	return fault.Wrap(fault.Unavailable, "the list cannot be read: "+outbound.Explain(err), err)
}
