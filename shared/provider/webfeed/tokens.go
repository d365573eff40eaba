package webfeed

import (
	"bytes"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"strings"
)

// tokens reads the tokens of an XML document within the limits. It uses no recursion. A fault in the document hurts the element that
// has it, and no other one: tokens goes on behind it.
type tokens struct {
	document []byte
	decoder  *xml.Decoder
	start    int    // where the decoder began in the document
	closed   bool   // the next token is the end of an element that closes itself
	faults   int    // how often the decoder has failed
	field    []byte // the field that is being read, and its text; kept because their memory is used again
	plain    plain
	scope

	elements, attributes, entries int
}

// read returns the tokens of a decoded document. It never loads external entities, and never expands entities that the document
// declares.
func read(document []byte) *tokens {
	t := &tokens{document: dropReferences(document), scope: scope{spaces: map[string]string{}}}
	t.restart(0)
	return t
}

// restart lets a new decoder go on at a place in the document.
func (t *tokens) restart(at int) {
	d := xml.NewDecoder(bytes.NewReader(t.document[at:]))
	d.Strict = false // many feeds have an unescaped &
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // the document is in UTF-8, also if it declares another set
	t.decoder, t.start, t.closed = d, at, false
}

// offset returns the place of the next token in the document.
func (t *tokens) offset() int { return t.start + int(t.decoder.InputOffset()) }

// next returns the next token. After an error, it must not be called again.
func (t *tokens) next() (xml.Token, error) {
	for {
		if t.ending > 0 {
			return t.pop(), nil
		}
		token, err := t.take()
		if errors.Is(err, io.EOF) && len(t.open) > 0 {
			t.endAll()
			continue
		}
		if err != nil {
			return nil, err
		}
		switch given := token.(type) {
		case xml.StartElement:
			if t.implies(given.Name) {
				t.held = &given
				continue
			}
			token = t.push(given)
		case xml.EndElement:
			if t.end(given.Name); t.ending == 0 { // no element has begun that this ends: it has no effect, but counts
				err = t.count(given)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		return token, t.count(token)
	}
}

// take returns the token that was held back, or the next one of the document.
func (t *tokens) take() (xml.Token, error) {
	if t.held != nil {
		start := *t.held
		t.held = nil
		return start, nil
	}
	return t.raw()
}

// raw returns the decoder's next token. At a fault it goes on behind it: a broken tag is left out, and the text before a fault stays.
func (t *tokens) raw() (xml.Token, error) {
	for {
		at := t.offset()
		rest := t.document[at:]
		if !t.closed && bare(rest) {
			if err := t.fault(at + 1); err != nil {
				return nil, err
			}
			return xml.CharData("<"), nil
		}
		if err := checkTag(rest); err != nil {
			return nil, err
		}
		token, err := t.decoder.RawToken()
		if err == nil {
			_, begins := token.(xml.StartElement)
			t.closed = begins && bytes.HasSuffix(t.document[:t.offset()], []byte("/>"))
			return token, nil
		}
		var syntax *xml.SyntaxError
		if errors.Is(err, io.EOF) || errors.As(err, &syntax) && strings.HasPrefix(syntax.Msg, "unexpected EOF") {
			return nil, io.EOF
		}
		behind := t.behind(at)
		if err := t.fault(behind); err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(rest, []byte("<")) {
			return xml.CharData(html.UnescapeString(string(t.document[at:behind]))), nil
		}
	}
}

// behind returns where to go on after the decoder has failed with the token at a place. Text ends at the next tag, so that no other
// decoder grows a buffer for the rest of it.
func (t *tokens) behind(at int) int {
	if t.document[at] != '<' {
		if n := bytes.IndexByte(t.document[at:], '<'); n >= 0 {
			return at + n
		}
		return len(t.document)
	}
	if comment := t.document[at:]; bytes.HasPrefix(comment, []byte("<!--")) {
		if end := bytes.Index(comment, []byte("-->")); end >= 0 {
			return at + end + len("-->")
		}
		return len(t.document)
	}
	to := max(t.offset(), at+1)
	if to-1 > at && t.document[to-1] == '<' { // it begins the next tag
		to--
	}
	return to
}

// fault counts a fault, and goes on at a place.
func (t *tokens) fault(at int) error {
	t.faults++
	t.restart(at)
	return limit(t.faults, "too many faults in its XML", maxFaults)
}

// bare reports whether a document goes on with a "<" that begins no markup.
func bare(rest []byte) bool {
	if len(rest) < 2 || rest[0] != '<' {
		return false
	}
	c := rest[1]
	return !letter(c) && c < 0x80 && c != '_' && c != ':' && c != '/' && c != '!' && c != '?'
}

// count checks a token against the limits.
func (t *tokens) count(token xml.Token) error {
	switch token := token.(type) {
	case xml.CharData:
		return nil
	case xml.StartElement:
		t.attributes += len(token.Attr)
	}
	t.elements++
	if err := limit(len(t.open), "elements nested too deep", maxDepth); err != nil {
		return err
	}
	if err := limit(t.elements, "too many elements", maxElements); err != nil {
		return err
	}
	return limit(t.attributes, "too many attributes", maxAttributes)
}

// checkTag checks the tag or instruction that comes next, if one does. The decoder builds a whole tag before it returns it, and
// its errors quote names and instructions.
func checkTag(rest []byte) error {
	switch {
	case bytes.HasPrefix(rest, []byte("<?")):
		if len(rest) > maxInstruction && !bytes.Contains(rest[:maxInstruction], []byte("?>")) {
			return &sizeError{"an instruction of too many bytes", maxInstruction}
		}
		return nil
	case !bytes.HasPrefix(rest, []byte("<")), bytes.HasPrefix(rest, []byte("<!")):
		return nil
	}
	words, length, quote := -1, 0, byte(0) // length: of the current word; the first word is the element's name
	for _, c := range rest[len("<"):] {
		switch {
		case c == '<': // the decoder refuses it, also within quotes
			return nil
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			return nil
		case c == '"', c == '\'':
			quote, length = c, 0
		case c == ' ', c == '\t', c == '\r', c == '\n', c == '=', c == '/':
			length = 0
		case length == 0:
			length = 1
			if words++; words > maxTagAttributes {
				return &sizeError{"an element with too many attributes", maxTagAttributes}
			}
		default:
			if length++; length > maxName {
				return &sizeError{"a name of too many bytes", maxName}
			}
		}
	}
	return nil // the decoder reports the tag without an end
}

// root returns the document's first element.
func (t *tokens) root() (xml.StartElement, error) {
	for {
		token, err := t.next()
		if err != nil {
			return xml.StartElement{}, err
		}
		if start, ok := token.(xml.StartElement); ok {
			return start, nil
		}
	}
}

// finish reads the document to its end.
func (t *tokens) finish() error {
	for {
		if _, err := t.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// children calls visit for each child of the element that was returned last. visit reads the child to its end.
func (t *tokens) children(visit func(xml.StartElement) error) error {
	for {
		token, err := t.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := visit(token); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// skip reads the element that was returned last to its end.
func (t *tokens) skip() error {
	for end := len(t.open) - 1; len(t.open) > end; {
		if _, err := t.next(); err != nil {
			return err
		}
	}
	return nil
}

// entry counts an entry.
func (t *tokens) entry() error {
	t.entries++
	return limit(t.entries, "too many entries", maxEntries)
}
