package webfeed

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	truncate "orgops/shared/base/text"
)

// Limits of texts. maxText is what a memory keeps of its body; maxLine limits a title that is made of it, in characters.
const (
	maxText = 64 << 10
	maxLine = 200
)

// plain collects the text of HTML without markup, scripts and styles. A block element begins a new line. Runs of white space
// become one space, or one new line if they hold one. The zero plain is empty. It keeps the first maxText bytes.
type plain struct {
	out    []byte
	gap    byte   // white space before the next character, 0 if none
	hidden string // the element whose text is left out: a script or a style
	maybe  *maybe // of the fragment that is read; nil: it is HTML without doubt
}

// reset makes p empty again, and keeps its memory.
func (p *plain) reset() { *p = plain{out: p.out[:0]} }

// String returns the text.
func (p *plain) String() string { return string(p.out) }

// text adds text without markup.
func (p *plain) text(s string) {
	if p.hidden != "" {
		return
	}
	for _, r := range s {
		if len(p.out) >= maxText {
			return
		}
		switch {
		case forbidden(r):
		case 0x80 <= r && r < 0xA0 && r != '\u0085' && fromWindows(r) != utf8.RuneError:
			p.text(string(fromWindows(r)))
		case r == '\n':
			p.gap = '\n'
		case unicode.IsSpace(r):
			p.space()
		default:
			if p.gap != 0 && len(p.out) > 0 {
				p.out = append(p.out, p.gap)
			}
			p.gap = 0
			p.out = append(p.out, string(r)...)
		}
	}
}

// fromWindows returns the character that a control character beyond ASCII stands for, as it does in HTML: no text holds these, but
// that of a publisher whose program took windows-1252 for Unicode. If no character does, it is U+FFFD.
func fromWindows(r rune) rune { return charmap.Windows1252.DecodeByte(byte(r)) }

func (p *plain) space() {
	if p.gap == 0 {
		p.gap = ' '
	}
}

// start adds the start of an element.
func (p *plain) start(name string) {
	if p.separate(name); p.hidden == "" && hides(name) {
		p.hidden = name
	}
}

// end adds the end of an element.
func (p *plain) end(name string) {
	if p.separate(name); strings.EqualFold(name, p.hidden) {
		p.hidden = ""
	}
}

// hides reports whether an element's text is not for readers.
func hides(name string) bool {
	return strings.EqualFold(name, "script") || strings.EqualFold(name, "style")
}

// separate adds the white space that separates an element from the text around it.
func (p *plain) separate(name string) {
	var lower [10]byte // as long as the longest name below
	if len(name) > len(lower) {
		return
	}
	for i := range len(name) {
		lower[i] = name[i] | 0x20 // digits stay digits
	}
	switch string(lower[:len(name)]) {
	case "p", "div", "br", "li", "ul", "ol", "tr", "table", "blockquote", "pre", "section", "article", "hr",
		"h1", "h2", "h3", "h4", "h5", "h6", "figure", "figcaption", "dt", "dd":
		p.gap = '\n'
	case "td", "th":
		p.space()
	}
}

// html adds a fragment of HTML, or of what may be HTML.
func (p *plain) html(fragment string, k kind) {
	add := func(s string) { p.text(html.UnescapeString(s)) }
	if p.maybe = nil; k == asMaybe {
		p.maybe, add = doubt(fragment), p.whole
	}
	for fragment != "" && len(p.out) < maxText {
		before, rest, markup := strings.Cut(fragment, "<")
		add(before)
		if !markup {
			return
		}
		fragment = p.markup(rest)
	}
}

// markup adds what follows a "<", and returns the rest.
func (p *plain) markup(rest string) string {
	name, closing := strings.CutPrefix(rest, "/")
	n := 0
	for n < len(name) && (letter(name[n]) || n > 0 && !strings.ContainsRune(" \t\r\n\f/>", rune(name[n]))) {
		n++
	}
	switch {
	case n == 0 && strings.HasPrefix(rest, "!--"):
		return after(rest[1:], "-->") // the shortest comment is <!-->
	case p.maybe != nil && (n == 0 || !p.maybe.tag(name[:n], name[n:], closing)):
		p.text("<")
		return rest
	case n == 0 && (closing || strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "?")):
		return after(rest, ">")
	case n == 0:
		p.text("<")
		return rest
	}
	name, rest = name[:n], tagEnd(name[n:])
	if closing {
		p.end(name)
		return rest
	}
	if hides(name) {
		p.separate(name)
		return endOf(name, rest)
	}
	p.start(name)
	return rest
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// after returns what follows the first mark in s, "" if s lacks it.
func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

// tagEnd returns what follows a tag whose attributes s begins with. A quoted value may hold a ">".
func tagEnd(s string) string {
	quote, value := byte(0), false // value: the next character begins a value
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			return s[i+1:]
		case value && (c == '"' || c == '\''):
			quote, value = c, false
		case c == '=':
			value = true
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			value = false
		}
	}
	return ""
}

// endOf returns the rest of s from the end tag of an element, "" if s lacks it.
func endOf(name, s string) string {
	for {
		i := strings.Index(s, "</")
		if i < 0 {
			return ""
		}
		s = s[i:]
		if end := len("</") + len(name); len(s) >= end && strings.EqualFold(s[len("</"):end], name) {
			return s
		}
		s = s[len("</"):]
	}
}

// text returns the plain text of a field of JSON.
func text(field string, k kind) string {
	var p plain
	p.html(field, k)
	return p.String()
}

// whole returns plain text as it is, with the usual new lines and without characters that no reader sees.
func whole(s string) string {
	s = strings.ReplaceAll(truncate.Truncate(s, maxText), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if forbidden(r) {
			return -1
		}
		return r
	}, s))
}

// line returns s with single spaces in the place of white space and new lines.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// beginning returns the first line of s, cut to maxLine characters.
func beginning(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	n := 0
	for i := range s {
		if n++; n > maxLine {
			return s[:i] + "…"
		}
	}
	return s
}
