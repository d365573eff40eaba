package text

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NotUnicode describes a text that is not valid Unicode. Use it as the detail of the problem at NotUnicodeAt's pointer.
const NotUnicode = "is not valid Unicode: it has bytes that are not UTF-8, or one half of a surrogate pair such as \\ud800"

// IsUnicode reports whether a JSON document is UTF-8, and no escape in it stands for half of a character. encoding/json reads each
// such byte and escape as U+FFFD, so different texts would become the same. It costs a look for \ud in a usual document.
func IsUnicode(document []byte) bool {
	return utf8.Valid(document) && (!bytes.Contains(document, []byte(`\ud`)) && !bytes.Contains(document, []byte(`\uD`)) || !hasLone(document))
}

// hasLone reports whether a lone surrogate is escaped in a document (RFC 8259 §8.2).
func hasLone(document []byte) bool {
	for {
		i := bytes.IndexByte(document, '\\')
		if i < 0 {
			return false
		}
		first, size := unit(document[i:])
		document = document[i+size:]
		switch {
		case first < 0xD800 || first > 0xDFFF:
			continue
		case first > 0xDBFF:
			return true
		}
		second, size := unit(document)
		if second < 0xDC00 || second > 0xDFFF {
			return true
		}
		document = document[size:]
	}
}

// unit returns the UTF-16 code unit of the escape that b begins with, and the bytes that the escape takes. The unit is -1 for
// another escape or text.
func unit(b []byte) (code int64, size int) {
	if len(b) >= 6 && b[0] == '\\' && b[1] == 'u' {
		if code, err := strconv.ParseInt(string(b[2:6]), 16, 32); err == nil {
			return code, 6
		}
	}
	return -1, min(2, len(b))
}

// NotUnicodeAt returns the JSON Pointer of the first text in a document that is not valid Unicode: of a value, or of a member with
// such a name, in whose pointer U+FFFD stands for what is not valid. It returns "" if the document is not JSON up to there.
func NotUnicodeAt(document []byte) (pointer string) {
	d := json.NewDecoder(bytes.NewReader(document))
	var open []place
	for end := int64(0); ; {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		raw := document[end:d.InputOffset()]
		end = d.InputOffset()
		if len(open) > 0 && token != json.Delim('}') && token != json.Delim(']') {
			open[len(open)-1].next(token)
		}
		if !IsUnicode(raw) {
			return pointerOf(open)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			open = append(open, place{object: token == json.Delim('{'), index: -1})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}

// place is where a reader stands in an object or a list.
type place struct {
	object bool
	named  bool // the name of a member was read, and its value follows
	name   string
	index  int
}

// next goes on to the next name, value or element.
func (p *place) next(token json.Token) {
	switch {
	case !p.object:
		p.index++
	case p.named:
		p.named = false
	default:
		p.name, _ = token.(string)
		p.named = true
	}
}

func pointerOf(open []place) string {
	var b strings.Builder
	for _, p := range open {
		token := p.name
		if !p.object {
			token = strconv.Itoa(p.index)
		}
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return b.String()
}
