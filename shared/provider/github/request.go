package github

import (
	"context"
	"io"
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
	timeout       = 30 * time.Second
	maxWait       = 24 * time.Hour
	defaultWait   = time.Minute // what GitHub asks for if a secondary rate limit comes without a time
	maxComplaint  = 8 << 10     // bytes of a refusal that are read
	publicAPI     = "https://api.github.com"
	apiVersion    = "2022-11-28"
	headerLeft    = "X-RateLimit-Remaining"
	headerRenewed = "X-RateLimit-Reset"
	headerExpires = "GitHub-Authentication-Token-Expiration"
)

// maxRedirects limits the redirects of one request. GitHub redirects the paths of a renamed repository, and asks clients to follow.
const maxRedirects = 3

// get requests a page. The answer is 200, or 304 if there is a tag; the caller closes its body.
func (r reader) get(ctx context.Context, address, tag string) (*http.Response, error) {
	for redirects := 0; ; redirects++ {
		resp, err := r.ask(ctx, address, tag)
		if err != nil {
			return nil, err
		}
		if redirects < maxRedirects {
			if to := moved(resp); to != "" {
				resp.Body.Close()
				address = to
				continue
			}
		}
		if err := r.check(resp, tag != ""); err != nil {
			resp.Body.Close()
			return nil, err
		}
		return resp, nil
	}
}

// moved returns where an answer redirects on the same origin, or "". The token goes to no other origin. The query says which items
// to list, so it stays if the new address has none.
func moved(resp *http.Response) string {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return ""
	}
	to := connector.Target(resp)
	if to == nil || to.User != nil || outbound.Origin(to.String()) != outbound.Origin(resp.Request.URL.String()) {
		return ""
	}
	if to.RawQuery == "" {
		to.RawQuery = resp.Request.URL.RawQuery
	}
	return to.String()
}

func (r reader) ask(ctx context.Context, address, tag string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "baseUrl and repository do not make a url")
	}
	Address(req, r.token)
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := r.client.Document(req, maxPage)
	if err != nil {
		return nil, unreachable(err)
	}
	resp.Request = req
	return resp, nil
}

// Address sets the headers that every request to GitHub's API has.
func Address(req *http.Request, bearer string) {
	req.Header.Set("User-Agent", "orgops-github")
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", apiVersion)
	req.Header.Set("Authorization", "Bearer "+bearer)
}

// check returns nil for a 200, and for a 304 that was asked for. Otherwise it returns an error that says what GitHub refuses.
func (r reader) check(resp *http.Response, asked bool) error {
	if err := connector.Throttled(resp, r.now()); err != nil && resp.StatusCode >= http.StatusInternalServerError {
		return err
	}
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusTooManyRequests:
		return r.limit(resp)
	case http.StatusUnauthorized:
		return refused("GitHub refuses the token; store a valid one")
	case http.StatusNotFound:
		return unshown("GitHub does not show this repository; check its name, and that the token may read its issues")
	case http.StatusGone:
		return unshown("the repository's issues are disabled at GitHub")
	}
	return connector.Status("GitHub", resp, asked)
}

func refused(detail string) error {
	return fault.Wrap(fault.Unavailable, detail, connector.ErrRefused)
}

func unshown(detail string) error { return fault.Wrap(fault.Unavailable, detail, errRepository) }

// Limited returns the error of a 403 or 429 that is a rate limit, and nil for a refusal. Of a primary limit GitHub says when it is
// renewed. Of a secondary limit it says how long to wait, or only that there is one.
func Limited(resp *http.Response, now time.Time) error {
	if resp.Header.Get("Retry-After") != "" {
		return &connector.ThrottledError{Until: now.Add(outbound.RetryAfter(resp.Header, now, defaultWait, maxWait))}
	}
	if until := exhausted(resp.Header, now); !until.IsZero() {
		return &connector.ThrottledError{Until: until}
	}
	complaint, _ := io.ReadAll(io.LimitReader(resp.Body, maxComplaint)) // without the text it is a refusal
	if resp.StatusCode == http.StatusTooManyRequests || strings.Contains(strings.ToLower(string(complaint)), "rate limit") {
		return &connector.ThrottledError{Until: now.Add(defaultWait)}
	}
	return nil
}

func (r reader) limit(resp *http.Response) error {
	if err := Limited(resp, r.now()); err != nil {
		return err
	}
	return unshown("GitHub refuses the token for this repository; give it read access to issues and contents")
}

// exhausted returns when the primary rate limit is renewed if no request is left before, and otherwise the zero time.
func exhausted(header http.Header, now time.Time) time.Time {
	if header.Get(headerLeft) != "0" {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(header.Get(headerRenewed), 10, 64)
	if err != nil {
		seconds = 0
	}
	return connector.Renewal(time.Unix(seconds, 0), now, defaultWait, maxWait)
}

// expiry returns when the token expires, or the zero time if GitHub does not say so. A classic token may live forever.
func expiry(header http.Header) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
		if at, err := time.Parse(layout, header.Get(headerExpires)); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// following returns the next page's address from the Link header (RFC 8288), or "". It returns a fault for a link that leads
// out of the configured API, because the token would go along. Of the releases only the first page is of interest.
func (r reader) following(l list, header http.Header) (string, error) {
	if l == releases {
		return "", nil
	}
	base, err := url.Parse(r.config.base())
	if err != nil {
		return "", fault.New(fault.Invalid, "baseUrl is not a url")
	}
	return connector.NextOnHost(base, header)
}

// base returns the address of the API, without a slash at its end.
func (c Config) base() string {
	if c.BaseURL == "" {
		return publicAPI
	}
	return strings.TrimRight(c.BaseURL, "/")
}
