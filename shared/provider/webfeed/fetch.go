package webfeed

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
)

// state describes the last fetched document. The service keeps it between runs.
type state struct {
	connector.Validators
	Entries int `json:"entries,omitempty"` // of the last document that had some
}

// Fetch implements connector.Source. A feed is one page. Memories of entries that the feed no longer lists stay, because
// feeds drop old entries. A document that has not changed since the last run gives a page without drafts.
//
// A 429, and a 503 with Retry-After, returns a *connector.ThrottledError. Any other refusal or failed request returns a
// *fault.Error whose detail says what went wrong.
func (c *Connector) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	var config Config
	if err := json.Unmarshal(f.Config, &config); err != nil {
		return connector.FetchedPage{}, fmt.Errorf("configuration of feed: %w", err)
	}
	var last state
	if !f.Full && len(f.State) > 0 {
		_ = json.Unmarshal(f.State, &last) // without validators the whole document is fetched again
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.get(ctx, config.URL, last.Validators)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && last.Validators != (connector.Validators{}) {
		return connector.FetchedPage{State: f.State}, nil
	}
	if err := c.checkStatus(resp); err != nil {
		return connector.FetchedPage{}, err
	}
	document, err := outbound.ReadBody(resp, maxDocument)
	if errors.Is(err, outbound.ErrTooLarge) {
		return connector.FetchedPage{}, errLarge
	}
	if err != nil {
		return connector.FetchedPage{}, unreachable(err)
	}
	from := source{contentType: resp.Header.Get("Content-Type"), last: last}
	if from.address, err = url.Parse(config.URL); err != nil {
		return connector.FetchedPage{}, err
	}
	return c.parse(ctx, document, config, from, state{Validators: connector.ValidatorsOf(resp.Header)})
}

// parse makes a page of a document as soon as there is a place to parse it. A server that answers slowly takes no place.
func (c *Connector) parse(ctx context.Context, document []byte, config Config, from source, next state) (connector.FetchedPage, error) {
	select {
	case c.parsing <- struct{}{}:
		defer func() { <-c.parsing }()
		return page(document, config, from, next)
	case <-ctx.Done():
		return connector.FetchedPage{}, fault.Wrap(fault.Unavailable, "too many feeds are read at the same time; try again", ctx.Err())
	}
}

func (c *Connector) get(ctx context.Context, address string, last connector.Validators) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the feed's url is not a url")
	}
	req.Header.Set("User-Agent", "orgops-feed")
	req.Header.Set("Accept", "application/feed+json, application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5")
	last.Set(req.Header)
	resp, err := c.client.Document(req, maxDocument)
	if err != nil {
		return nil, unreachable(err)
	}
	return resp, nil
}

func unreachable(err error) error {
	return fault.Wrap(fault.Unavailable, "the feed cannot be read: "+outbound.Explain(err), err)
}

// checkStatus returns nil for 200, and otherwise an error that says why the answer holds no feed.
func (c *Connector) checkStatus(resp *http.Response) error {
	if err := connector.Throttled(resp, c.now()); err != nil {
		return err
	}
	switch s := resp.StatusCode; {
	case s == http.StatusOK:
		return nil
	case s >= 300 && s < 400 && s != http.StatusNotModified:
		return connector.Status("the feed", resp, false)
	case s == http.StatusNotModified:
		return fault.New(fault.Unavailable, "the feed answers 304 Not Modified, although the request did not ask for changes alone; check the server")
	case s == http.StatusGone:
		return fault.New(fault.Unavailable, "the feed answers 410 Gone: it has ended for good. Configure the url of its successor, or delete the integration; the memories stay")
	case s == http.StatusNotFound:
		return fault.New(fault.Unavailable, "the feed answers 404 Not Found; check the url")
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return fault.Newf(fault.Unavailable, "the feed answers %d %s; it must be public, because a feed is read without credentials", s, http.StatusText(s))
	default:
		return fault.New(fault.Unavailable, "the feed answers "+strconv.Itoa(s)+" "+http.StatusText(s))
	}
}
