package webfeed

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"golang.org/x/net/html/charset"
)

// Limits of a document's content. The parser allocates one or two kilobytes for an entry of five bytes and recurses into
// nested elements. Without limits, 8 MiB could take two gigabytes of memory or overflow the stack. A podcast's feed with
// thousands of episodes stays below the limits.
const (
	maxElements = 100_000
	maxEntries  = 10_000
	maxDepth    = 100
	maxTagSize  = 256 << 10 // bytes between < and >; a tag of 8 MiB holds a million attributes, all in memory at once
)

// sizeError says which limit a document exceeds.
type sizeError struct {
	what  string
	limit int
}

func (e *sizeError) Error() string { return fmt.Sprintf("has %s; the limit is %d", e.what, e.limit) }

// checkSize checks a document against the limits before the parser sees it.
func checkSize(document []byte) error {
	if bytes.HasPrefix(document, []byte("{")) { // encoding/json limits the depth itself
		if bytes.Count(document, []byte("{")) > maxElements/2 {
			return &sizeError{"too many objects", maxElements / 2}
		}
		return nil
	}
	if longTag(document) {
		return &sizeError{"a tag of too many bytes", maxTagSize}
	}
	return checkElements(document)
}

// longTag reports whether a document holds a tag longer than maxTagSize. It runs before any decoder, because a decoder
// builds a whole tag before it returns it.
func longTag(document []byte) bool {
	for {
		i := bytes.IndexByte(document, '<')
		if i < 0 || i+1 == len(document) {
			return false
		}
		document = document[i+1:]
		if c := document[0] | 0x20; c < 'a' || c > 'z' { // a declaration, a comment, quoted text or an end tag
			continue
		}
		end := bytes.IndexByte(document, '>')
		if end < 0 {
			return len(document) > maxTagSize
		}
		if end > maxTagSize {
			return true
		}
		document = document[end:]
	}
}

// checkElements checks the number and depth of an XML document's elements. It reads character sets as the parser does, and
// stops where the parser stops.
func checkElements(document []byte) error {
	decoder := xml.NewDecoder(bytes.NewReader(document))
	decoder.Strict = false
	decoder.CharsetReader = charset.NewReaderLabel
	for depth, elements, entries := 0, 0, 0; ; {
		token, err := decoder.RawToken()
		if err != nil {
			return nil //nolint:nilerr // the parser stops here too, and reports the error
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			elements++
			if strings.EqualFold(t.Name.Local, "item") || strings.EqualFold(t.Name.Local, "entry") {
				entries++
			}
		case xml.EndElement:
			depth--
		}
		switch {
		case depth > maxDepth:
			return &sizeError{"elements nested too deep", maxDepth}
		case elements > maxElements:
			return &sizeError{"too many elements", maxElements}
		case entries > maxEntries:
			return &sizeError{"too many entries", maxEntries}
		}
	}
}
