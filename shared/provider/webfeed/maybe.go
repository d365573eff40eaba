package webfeed

import (
	"html"
	"strings"
)

// maybe tells markup from text in a fragment that may be either. RSS does not say which its titles and descriptions are. So a tag
// of HTML is markup if it ends, if it needs no end, or if it has attributes. Everything else that looks like a tag is text, such
// as the <T> of Vec<T>.
type maybe struct{ last map[string]int } // for each name, how many bytes are left at its last end tag

// Limits of what is looked at of a tag, in bytes.
const (
	maxTagName = 31
	maxTag     = 4 << 10
)

func doubt(fragment string) *maybe {
	m := &maybe{last: map[string]int{}}
	for rest := fragment; ; {
		_, tag, found := strings.Cut(rest, "</")
		if !found {
			return m
		}
		rest = tag
		n := strings.IndexAny(tag[:min(maxTagName, len(tag))], " \t\r\n/>")
		if n <= 0 {
			continue
		}
		if name := strings.ToLower(tag[:n]); elementOf(name) != unknown {
			m.last[name] = len(tag)
		}
	}
}

// tag reports whether a tag is markup. rest is what follows its name.
func (m *maybe) tag(name, rest string, closing bool) bool {
	name = strings.ToLower(name)
	e := elementOf(name)
	if e == unknown || closing {
		return e != unknown
	}
	inside, _, _ := strings.Cut(rest[:min(maxTag, len(rest))], ">")
	ends, ok := m.last[name]
	return e == alone || strings.Contains(inside, "=") || ok && ends < len(rest)
}

// whole adds text, and replaces whole references alone: the "&copy" of an address stays.
func (p *plain) whole(s string) {
	for {
		n := strings.IndexByte(s, '&')
		if n < 0 {
			p.text(s)
			return
		}
		end := strings.IndexByte(s[n:min(n+maxReference, len(s))], ';')
		if end < 0 {
			p.text(s[:n+1])
			s = s[n+1:]
			continue
		}
		p.text(s[:n])
		given := s[n : n+end+1]
		if read := html.UnescapeString(given); strings.HasSuffix(read, ";") {
			p.text("&")
			s = s[n+1:]
		} else {
			p.text(read)
			s = s[n+end+1:]
		}
	}
}

// element says how an element of HTML is written.
type element int

const (
	unknown element = iota
	alone           // it needs no end tag, or has none
	paired          // it needs an end tag, or attributes
)

// elementOf returns how the element with a name in lower case is written. An element with a prefix or a hyphen is an application's.
func elementOf(name string) element {
	switch name {
	case "br", "hr", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot":
		return alone
	case "a", "abbr", "acronym", "address", "area", "article", "aside", "audio", "b", "bdi", "bdo", "big", "blockquote", "body", "button",
		"canvas", "caption", "center", "cite", "code", "col", "colgroup", "data", "del", "details", "dfn", "dialog", "dir", "div", "dl", "em",
		"embed", "fieldset", "figcaption", "figure", "font", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header",
		"hgroup", "html", "i", "iframe", "img", "input", "ins", "kbd", "label", "legend", "link", "main", "map", "mark", "menu", "meta",
		"meter", "nav", "noscript", "object", "ol", "optgroup", "option", "output", "param", "picture", "pre", "progress", "q", "rp", "rt",
		"ruby", "s", "samp", "script", "section", "select", "small", "source", "span", "strike", "strong", "style", "sub", "summary", "sup",
		"svg", "table", "template", "textarea", "time", "title", "tt", "u", "ul", "var", "video":
		return paired
	}
	if strings.ContainsAny(name, ":-") {
		return paired
	}
	return unknown
}
