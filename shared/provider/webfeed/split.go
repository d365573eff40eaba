package webfeed

import "bytes"

// splitter finds the items of a JSON Feed without copying them, and checks the depth and the number of the document's values, and the
// length of names. It replaces the new lines that strings may not hold.
type splitter struct {
	document []byte
	items    [][]byte
	found    bool // the list of items

	depth, values   int
	quoted, escaped bool
	begin, length   int  // of the last string
	named, listing  bool // the last name is "items"; the list is open
	item            int  // where the current item begins
}

// inItems is the depth within the list of items.
const inItems = 2

// split reads the document.
func (s *splitter) split() error {
	for n, c := range s.document {
		switch {
		case s.quoted:
			if c < ' ' {
				s.document[n] = ' '
			}
			s.quoted, s.escaped = s.escaped || c != '"', !s.escaped && c == '\\'
			s.length = n - s.begin
		case c == '"':
			s.quoted, s.begin, s.length = true, n+1, 0
		case c == ':' && s.length > maxName:
			return &sizeError{"a name of too many bytes", maxName}
		case c == ':':
			s.named = s.depth == 1 && string(s.document[s.begin:s.begin+s.length]) == "items"
		default:
			s.structure(n, c)
		}
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

// structure reads what is not in a string.
func (s *splitter) structure(n int, c byte) {
	switch c {
	case '{', '[':
		s.depth, s.values = s.depth+1, s.values+1
		if c == '[' && s.depth == inItems && s.named {
			s.found, s.listing, s.item = true, true, n+1
		}
	case '}', ']':
		if s.listing && s.depth == inItems {
			s.end(n)
			s.listing = false
		}
		s.depth--
	case ',':
		s.values++
		if s.listing && s.depth == inItems {
			s.end(n)
		}
		s.named = s.named && s.depth > 1
	}
}

// end ends the current item.
func (s *splitter) end(at int) {
	if item := bytes.TrimSpace(s.document[s.item:at]); len(item) > 0 {
		s.items = append(s.items, item)
	}
	s.item = at + 1
}

func (s *splitter) check() error {
	if err := limit(s.depth, "lists and objects nested too deep", maxDepth); err != nil {
		return err
	}
	if err := limit(s.values, "too many values", maxValues); err != nil {
		return err
	}
	return limit(len(s.items), "too many entries", maxEntries)
}
