package webfeed

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// tokens reads the tokens of an XML document within the limits. It uses no recursion.
type tokens struct {
	document []byte
	decoder  *xml.Decoder
	field    []byte // the field that is being read, and its text; kept because their memory is used again
	plain    plain

	depth, elements, attributes, entries int
}

// read returns the tokens of a decoded document. It never loads external entities, and never expands entities that the document
// declares.
func read(document []byte) *tokens {
	d := xml.NewDecoder(bytes.NewReader(document))
	d.Strict = false                                                                     // many feeds have an unescaped & or an unknown entity
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // the document is in UTF-8, also if it declares another set
	return &tokens{document: document, decoder: d}
}

// next returns the next token. After an error, it must not be called again.
func (t *tokens) next() (xml.Token, error) {
	if err := t.checkTag(); err != nil {
		return nil, err
	}
	token, err := t.decoder.Token()
	if err != nil {
		return nil, err
	}
	return token, t.count(token)
}

// count checks a token against the limits.
func (t *tokens) count(token xml.Token) error {
	switch token := token.(type) {
	case xml.CharData:
		return nil
	case xml.EndElement:
		t.depth--
		return nil
	case xml.StartElement:
		t.depth++
		t.attributes += len(token.Attr)
	}
	t.elements++
	if err := limit(t.depth, "elements nested too deep", maxDepth); err != nil {
		return err
	}
	if err := limit(t.elements, "too many elements", maxElements); err != nil {
		return err
	}
	return limit(t.attributes, "too many attributes", maxAttributes)
}

// checkTag checks the tag or instruction that comes next, if one does. The decoder builds a whole tag before it returns it, and
// its errors quote names and instructions.
func (t *tokens) checkTag() error {
	rest := t.document[t.decoder.InputOffset():]
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
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>', c == '<': // the decoder refuses the second
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

// end reads the document to its end.
func (t *tokens) end() error {
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
	for end := t.depth - 1; t.depth > end; {
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

// Limits of one field, in bytes. What follows is not read.
const (
	maxMarkup = 1 << 20
	maxWord   = 4 << 10
)

// word returns the text of the element that was returned last, without its children: an id or a link.
func (t *tokens) word() (string, error) {
	t.field = t.field[:0]
	err := t.texts(func(token xml.Token, depth int) {
		if text, ok := token.(xml.CharData); ok && depth == 0 {
			t.field = append(t.field, cut(text, maxWord-len(t.field))...)
		}
	})
	return strings.TrimSpace(string(t.field)), err
}

// prose returns the plain text of the element that was returned last. Its text is HTML. Its children are elements of HTML too;
// in XHTML their text is plain.
func (t *tokens) prose(xhtml bool) (string, error) {
	p := &t.plain
	p.reset()
	t.field = t.field[:0]
	flush := func() {
		p.html(string(t.field))
		t.field = t.field[:0]
	}
	err := t.texts(func(token xml.Token, depth int) {
		switch token := token.(type) {
		case xml.StartElement:
			flush()
			p.start(token.Name.Local)
		case xml.EndElement:
			flush()
			p.end(token.Name.Local)
		case xml.CharData:
			if xhtml && depth > 0 {
				p.text(string(token))
			} else {
				t.field = append(t.field, cut(token, maxMarkup-len(t.field))...)
			}
		}
	})
	flush()
	return p.String(), err
}

// texts calls visit for the texts, starts and ends within the element that was returned last, and reads it to its end. depth is
// 0 for the element's own texts.
func (t *tokens) texts(visit func(token xml.Token, depth int)) error {
	end := t.depth - 1
	for {
		token, err := t.next()
		if err != nil {
			return err
		}
		if t.depth == end {
			return nil
		}
		visit(token, t.depth-end-1)
	}
}

func cut(text []byte, most int) []byte { return text[:max(0, min(len(text), most))] }
