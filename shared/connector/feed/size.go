package feed

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"golang.org/x/net/html/charset"
)

// Limits of what a document may hold. The parser keeps one or two kilobytes for an entry that is five bytes long, and
// recurses into nested elements: without limits 8 MiB could cost two gigabytes, or the process its stack. A podcast's
// feed, with all of its thousands of episodes, stays below them.
const (
	maxElements = 100_000
	maxEntries  = 10_000
	maxDepth    = 100
	maxTagSize  = 256 << 10 // bytes between < and >: a tag of 8 MiB is a million attributes, all in memory at once
)

// sizeError says which limit a document passes.
type sizeError struct {
	what  string
	limit int
}

func (e *sizeError) Error() string { return fmt.Sprintf("has %s; the limit is %d", e.what, e.limit) }

// checkSize counts what a document holds before anything is made of it.
func checkSize(document []byte) error {
	if bytes.HasPrefix(document, []byte("{")) { // encoding/json bounds the depth itself
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

// longTag looks for a tag that is too long to be given to any decoder, which would make all of it before it hands it over.
func longTag(document []byte) bool {
	for {
		i := bytes.IndexByte(document, '<')
		if i < 0 || i+1 == len(document) {
			return false
		}
		document = document[i+1:]
		if c := document[0] | 0x20; c < 'a' || c > 'z' { // a declaration, a comment, text in quotes, an end
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

// checkElements counts an XML document's elements, and how deep they nest. It reads as the parser does, character sets
// included; where it cannot go on, neither can the parser.
func checkElements(document []byte) error {
	decoder := xml.NewDecoder(bytes.NewReader(document))
	decoder.Strict = false
	decoder.CharsetReader = charset.NewReaderLabel
	for depth, elements, entries := 0, 0, 0; ; {
		token, err := decoder.RawToken()
		if err != nil {
			return nil //nolint:nilerr // the parser stops here as well, and says why
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
