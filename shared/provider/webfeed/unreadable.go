package webfeed

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"

	"orgops/shared/base/fault"
	truncate "orgops/shared/base/text"
)

// errLarge and errDecoded refuse a document that is too large as it is, or in UTF-8.
var (
	errLarge   = fault.Newf(fault.Unavailable, "the feed is larger than %d MiB", maxDocument>>20)
	errDecoded = fault.Newf(fault.Unavailable, "the feed is larger than %d MiB in UTF-8", maxDocument>>20)
)

var (
	errUnknown = errors.New("neither XML nor a JSON object")
	errEmpty   = errors.New("no document")
)

// rootError reports XML whose root element is not a feed's.
type rootError struct{ name string }

func (e *rootError) Error() string { return "the root element is " + e.name }

// pageError reports a web page in the place of a feed.
type pageError struct{ feed string } // the feed that it names, or ""

func (e *pageError) Error() string { return "a web page" }

// Limits in bytes: of the parser's reason, which is logged, and of a name that a company sees.
const (
	maxReason = 200
	maxShown  = 40
)

// explain says what was read in the place of a feed, and what to do.
func explain(err error) string {
	const check = "check the url"
	var root *rootError
	var page *pageError
	switch {
	case errors.As(err, &page) && page.feed != "":
		return "this is a web page, not a feed; its feed may be at " + page.feed + ", so configure that url"
	case errors.As(err, &page):
		return "this is a web page, not a feed; configure the url of its feed"
	case errors.Is(err, errEmpty):
		return "the answer is empty, not a feed in RSS, Atom or JSON Feed; " + check
	case errors.As(err, &root):
		return fmt.Sprintf("the document is XML with the root element %q, not a feed in RSS, Atom or JSON Feed; %s",
			truncate.Truncate(root.name, maxShown), check)
	case errors.Is(err, errNoItems):
		return "the document is JSON, but not a feed: it has no list named items; " + check
	case errors.Is(err, errNoJSON):
		return "the document begins as JSON, but is not, so it is not a feed in JSON Feed; check it with a JSON validator"
	}
	return "the document is not a feed in RSS, Atom or JSON Feed; " + check
}

// maxHead limits the search for a page's feed, in bytes.
const maxHead = 512 << 10

var (
	pageStart = regexp.MustCompile(`(?i)^(?:<\?xml[^>]{0,200}>|<!--[^>]{0,1000}-->|\s)*<(?:!doctype\s+html|html)\b`)
	linkTag   = regexp.MustCompile(`(?i)<link\s[^>]{0,1000}>`)
	feedType  = regexp.MustCompile(`(?i)\btype\s*=\s*["']?application/(?:rss\+xml|atom\+xml|feed\+json)`)
	alternate = regexp.MustCompile(`(?i)\brel\s*=\s*["']?[^"'>]*\balternate\b`)
	target    = regexp.MustCompile(`(?i)\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
)

// isPage reports whether a document is HTML.
func isPage(document []byte) bool { return pageStart.Match(document[:min(maxHead, len(document))]) }

// pageOf returns the error for a web page. It names the page's feed if the page does.
func pageOf(document []byte, address *url.URL) error {
	for _, tag := range linkTag.FindAll(document[:min(maxHead, len(document))], -1) {
		if !feedType.Match(tag) || !alternate.Match(tag) {
			continue
		}
		if found := target.FindSubmatch(tag); found != nil {
			href := strings.TrimSpace(html.UnescapeString(string(found[1]) + string(found[2]) + string(found[3])))
			if at := resolve(address, href); isWeb(at) && len(at) <= maxURL {
				return &pageError{at}
			}
		}
	}
	return &pageError{}
}
