package webfeed

import (
	"errors"
	"fmt"

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
