package webfeed

import "fmt"

// Limits of a document's content. With them no document of maxDocument bytes takes more than 64 MiB and two
// seconds. A podcast's feed with thousands of episodes stays below them.
const (
	maxElements      = 100_000 // elements, comments and instructions
	maxEntries       = 10_000
	maxDepth         = 100
	maxFaults        = 10_000  // places where XML is not well-formed
	maxAttributes    = 100_000 // of the whole document
	maxTagAttributes = 1_000   // of one element; the decoder holds them all at once
	maxValues        = 200_000 // of a JSON document
	maxInstruction   = 64 << 10
	maxName          = 1024 // bytes of a name, which errors quote
)

// sizeError says which limit a document exceeds.
type sizeError struct {
	what  string
	limit int
}

func (e *sizeError) Error() string { return fmt.Sprintf("has %s; the limit is %d", e.what, e.limit) }

// limit returns a *sizeError if n exceeds most.
func limit(n int, what string, most int) error {
	if n > most {
		return &sizeError{what, most}
	}
	return nil
}
