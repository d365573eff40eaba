package webfeed

import (
	"encoding/xml"
	"strings"
)

// Limits of one field, in bytes. What follows is not read.
const (
	maxMarkup = 1 << 20
	maxWord   = 4 << 10
)

// kind says what the text of a field is.
type kind int

const (
	asText  kind = iota // plain text; elements within it are those of HTML
	asHTML              // a fragment of HTML
	asMaybe             // plain text or a fragment of HTML: the format does not say which
)

// word returns the text of the element that was returned last, without its children: an id, a link or a date.
func (t *tokens) word() (string, error) {
	t.field = t.field[:0]
	err := t.texts(func(token xml.Token, depth int) {
		if text, ok := token.(xml.CharData); ok && depth == 0 {
			t.field = append(t.field, cut(text, maxWord-len(t.field))...)
		}
	})
	return strings.TrimSpace(string(t.field)), err
}

// prose returns the plain text of the element that was returned last.
func (t *tokens) prose(k kind) (string, error) {
	p := &t.plain
	p.reset()
	t.field = t.field[:0]
	flush := func() {
		p.html(string(t.field), k)
		t.field = t.field[:0]
	}
	err := t.texts(func(token xml.Token, _ int) {
		switch token := token.(type) {
		case xml.StartElement:
			flush()
			p.start(token.Name.Local)
		case xml.EndElement:
			flush()
			p.end(token.Name.Local)
		case xml.CharData:
			if k == asText {
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
	end := len(t.open) - 1
	for {
		token, err := t.next()
		if err != nil {
			return err
		}
		if len(t.open) == end {
			return nil
		}
		visit(token, len(t.open)-end-1)
	}
}

func cut(text []byte, most int) []byte { return text[:max(0, min(len(text), most))] }
