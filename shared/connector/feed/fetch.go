package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/outbound"
)

// Limits of one fetch.
const (
	timeout     = 30 * time.Second
	maxDocument = 8 << 20
	maxWait     = 24 * time.Hour
	defaultWait = 5 * time.Minute // where a server asks to wait and does not say how long
	maxTag      = 1024            // longer validators are not worth keeping
)

// state is kept between runs: what the server said of the document that was fetched last.
type state struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
}

// Fetch implements connector.Source. A feed is one page. What it does not list stays: feeds drop old entries, and that
// is no deletion. A document that has not changed since the last run is a page without drafts.
//
// 429, and 503 with its Retry-After or without, is a *connector.ThrottledError; everything else that goes wrong is a
// *fault.Error whose detail says what.
func (c *Connector) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	var config Config
	if err := json.Unmarshal(f.Config, &config); err != nil {
		return connector.FetchedPage{}, fmt.Errorf("configuration of feed: %w", err)
	}
	var was state
	if !f.Full && len(f.State) > 0 {
		_ = json.Unmarshal(f.State, &was) // without validators the document is fetched again, no harm done
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.get(ctx, config.URL, was)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		return connector.FetchedPage{State: f.State}, nil
	}
	if err := c.refused(resp); err != nil {
		return connector.FetchedPage{}, err
	}
	document, err := outbound.ReadBody(resp, maxDocument)
	if errors.Is(err, outbound.ErrTooLarge) {
		return connector.FetchedPage{}, fault.Newf(fault.Unavailable, "the feed is larger than %d MiB", maxDocument>>20)
	}
	if err != nil {
		return connector.FetchedPage{}, unreachable(err)
	}
	return page(document, config, validators(resp.Header))
}

func (c *Connector) get(ctx context.Context, url string, was state) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the feed's url is not a url")
	}
	req.Header.Set("User-Agent", "orgops-feed")
	req.Header.Set("Accept", "application/feed+json, application/atom+xml, application/rss+xml, application/xml;q=0.9, */*;q=0.5")
	if was.ETag != "" {
		req.Header.Set("If-None-Match", was.ETag)
	}
	if was.LastModified != "" {
		req.Header.Set("If-Modified-Since", was.LastModified)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	return resp, nil
}

func unreachable(err error) error {
	return fault.Wrap(fault.Unavailable, "the feed cannot be read: "+outbound.Explain(err), err)
}

// refused is why an answer holds no feed; nil for 200.
func (c *Connector) refused(resp *http.Response) error {
	switch s := resp.StatusCode; {
	case s == http.StatusOK:
		return nil
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		return &connector.ThrottledError{Until: c.now().Add(outbound.RetryAfter(resp.Header, c.now(), defaultWait, maxWait))}
	case s >= 300 && s < 400:
		return fault.Newf(fault.Unavailable, "the feed answers %d: redirects are not followed, configure the url that it leads to", s)
	default:
		return fault.New(fault.Unavailable, "the feed answers "+strconv.Itoa(s)+" "+http.StatusText(s))
	}
}

// validators are what a server may be asked with next time. They go back into headers, so they must be able to.
func validators(header http.Header) state {
	s := state{ETag: header.Get("ETag"), LastModified: header.Get("Last-Modified")}
	if len(s.ETag) > maxTag {
		s.ETag = ""
	}
	if _, err := http.ParseTime(s.LastModified); err != nil {
		s.LastModified = ""
	}
	return s
}
