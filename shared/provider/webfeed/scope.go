package webfeed

import (
	"encoding/xml"
	"strings"
)

// scope holds the elements that have begun and not ended, and the namespaces that they declare.
type scope struct {
	open   []opened
	spaces map[string]string // by prefix; "" for the default
	ending int               // how many of the open elements end before the next token
	held   *xml.StartElement // the token behind those ends
	cut    bool              // the document ended before its elements did
	within bool              // it ended within a field of an entry, so the entry is not whole
}

// opened is an element that has begun, and what its prefixes stood for outside of it.
type opened struct {
	name  xml.Name // as it is written, with the prefix
	outer []binding
}

type binding struct{ prefix, space string }

// push begins an element, and returns it with its namespace. A prefix that nothing declares stands for itself.
func (s *scope) push(start xml.StartElement) xml.StartElement {
	e := opened{name: start.Name}
	for _, a := range start.Attr {
		prefix := a.Name.Local
		if a.Name.Space == "" && prefix == "xmlns" {
			prefix = ""
		} else if a.Name.Space != "xmlns" {
			continue
		}
		e.outer = append(e.outer, binding{prefix, s.spaces[prefix]})
		s.spaces[prefix] = a.Value
	}
	s.open = append(s.open, e)
	if space := s.spaces[start.Name.Space]; space != "" {
		start.Name.Space = space
	}
	return start
}

// bare reports whether the element that was begun last has no prefix.
func (s *scope) bare() bool { return s.open[len(s.open)-1].name.Space == "" }

// pop ends the element that was begun last.
func (s *scope) pop() xml.EndElement {
	last := s.open[len(s.open)-1]
	for n := len(last.outer) - 1; n >= 0; n-- {
		s.spaces[last.outer[n].prefix] = last.outer[n].space
	}
	s.open, s.ending = s.open[:len(s.open)-1], s.ending-1
	return xml.EndElement{Name: last.name}
}

// end lets the innermost open element with a name end, and those within it.
func (s *scope) end(name xml.Name) {
	for n := len(s.open) - 1; n >= 0; n-- {
		if s.open[n].name == name {
			s.ending = len(s.open) - n
			return
		}
	}
}

// endAll lets every open element end, because the document does.
func (s *scope) endAll() {
	s.cut, s.ending = true, len(s.open)
	for n, e := range s.open {
		s.within = s.within || listed(e.name) && n < len(s.open)-1
	}
}

// implies reports whether an element ends the one with the same name that is open: an item begins where the item before it lacks its
// end.
func (s *scope) implies(name xml.Name) bool {
	if listed(name) {
		s.end(name)
	}
	return s.ending > 0
}

// listed reports whether an element is an entry by its name.
func listed(name xml.Name) bool {
	return strings.EqualFold(name.Local, "item") || strings.EqualFold(name.Local, "entry")
}
