package httplist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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
	maxCursor   = 2048
)

// state holds the validators of a list that had one page.
type state = connector.Validators

// checkpoint is the next page: its address, and how many pages and objects came before.
type checkpoint struct {
	Address string `json:"address"`
	Pages   int    `json:"pages"`
	Items   int    `json:"items"`
}

// Fetch implements connector.Source. Every run reads the whole list, unless it finds a list of one page unchanged. Pages by offset
// shift, and so may those by Link, whose addresses often hold numbers. An offset list always has a second page, if only an
// empty one: a deletion after the first page can make it empty.
//
// A 429, and a 503 with Retry-After, returns a *connector.ThrottledError. A 401 or 403 returns an error that is connector.ErrRefused. Any other
// refusal or failed request returns a *fault.Error whose detail says what went wrong.
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
	return config.page(document, resp.Header, at)
}

// page reads the objects of a document, and finds the next page.
func (config Config) page(document []byte, header http.Header, at checkpoint) (page connector.FetchedPage, err error) {
	count, err := config.items(document, &page)
	if err != nil {
		return page, err
	}
	page.Shifting = at.Pages > 0 && config.Paging != pagedByCursor
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

// next returns the checkpoint behind a page of so many objects. It has no address at the end of the list.
func (config Config) next(document []byte, header http.Header, at checkpoint, count int) (checkpoint, error) {
	after := checkpoint{Pages: at.Pages + 1, Items: at.Items + count}
	switch config.Paging {
	case pagedByCursor:
		if cursor := text(find(document, config.CursorPath)); cursor != "" {
			if len(cursor) > maxCursor {
				return after, fault.New(fault.Unavailable, "the cursor of the next page is longer than 2,048 bytes")
			}
			after.Address = with(config.URL, config.Parameter, cursor)
		}
	case pagedByNo:
		if count > 0 {
			after.Address = with(config.URL, config.Parameter, strconv.Itoa(after.Items))
		}
	default:
		address, err := config.linked(header, at)
		if err != nil {
			return after, err
		}
		after.Address = address
	}
	if after.Address == at.Address || after.Address != "" && after.Pages >= maxPages {
		return after, fault.New(fault.Unavailable, "the list does not end; check the paging")
	}
	return after, nil
}

// linked returns the address of the next page by the Link header. It follows links to the configured host only, because the
// credentials go along.
func (config Config) linked(header http.Header, at checkpoint) (string, error) {
	base, err := url.Parse(at.Address)
	if err != nil {
		return "", nil //nolint:nilerr // an address that was fetched can be parsed
	}
	return connector.NextOnHost(base, header)
}

func with(address, parameter, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	q := u.Query()
	q.Set(parameter, value)
	u.RawQuery = q.Encode()
	return u.String()
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
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	if err := c.check(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// check returns nil for 200 and 304, and otherwise an error that says why the answer holds no list.
func (c *Connector) check(resp *http.Response) error {
	if err := connector.Throttled(resp, c.now()); err != nil {
		return err
	}
	switch s := resp.StatusCode; {
	case s == http.StatusOK, s == http.StatusNotModified:
		return nil
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("the list answers %d; check the credentials", s), connector.ErrRefused)
	case s >= 300 && s < 400:
		return fault.Newf(fault.Unavailable, "the list answers %d; redirects are not followed, so configure the url that it redirects to", s)
	default:
		return fault.New(fault.Unavailable, "the list answers "+strconv.Itoa(s)+" "+http.StatusText(s))
	}
}

func unreachable(err error) error {
	return fault.Wrap(fault.Unavailable, "the list cannot be read: "+outbound.Explain(err), err)
}
