package webfeed

import (
	"bytes"
	"encoding/xml"
	"errors"
	"net/url"
	"strings"
)

// entry holds the fields that become a memory, as plain text.
type entry struct{ id, title, link, content, summary string }

var errUnknown = errors.New("neither XML nor JSON, or the root element is not a feed's")

// entries reads a decoded document in RSS, Atom or JSON Feed to its end, and returns its first entries.
func entries(document []byte, first int) ([]entry, error) {
	switch {
	case bytes.HasPrefix(document, []byte("{")):
		return fromJSON(document, first)
	case !bytes.HasPrefix(document, []byte("<")):
		return nil, errUnknown
	}
	t := read(document)
	root, err := t.root()
	if err != nil {
		return nil, err
	}
	var all []entry
	switch strings.ToLower(root.Name.Local) {
	case "rss", "rdf":
		all, err = fromRSS(t, root, first)
	case "feed":
		all, err = fromAtom(t, root, first)
	default:
		err = errUnknown
	}
	if err != nil {
		return nil, err
	}
	return all, t.end()
}

// vocabulary returns the usual prefix of a namespace, "" for that of RSS, and the namespace itself if it has none. Case and a
// slash at the end do not matter. A prefix that a document does not declare stands for itself.
func vocabulary(space string) string {
	if len(space) > maxURL {
		return space
	}
	switch strings.TrimSuffix(strings.ToLower(strings.TrimSpace(space)), "/") {
	case "", "rss", "rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://purl.org/rss/1.0",
		"http://channel.netscape.com/rdf/simple/0.9", "http://my.netscape.com/rdf/simple/0.9":
		return ""
	case "dc", "http://purl.org/dc/elements/1.1":
		return "dc"
	case "content", "http://purl.org/rss/1.0/modules/content":
		return "content"
	case "itunes", "http://www.itunes.com/dtds/podcast-1.0.dtd":
		return "itunes"
	case "atom", "atom10", "atom03", "http://www.w3.org/2005/atom", "http://purl.org/atom/ns#":
		return "atom"
	}
	return space
}

// attribute returns the value of an attribute without a prefix.
func attribute(start xml.StartElement, name string) string {
	for _, a := range start.Attr {
		if a.Name.Space == "" && strings.EqualFold(a.Name.Local, name) {
			return a.Value
		}
	}
	return ""
}

// Limits of the addresses that are resolved, in bytes. A memory keeps no longer address than maxURL.
const (
	maxURL  = 2048
	maxBase = 512
)

// base returns the address that links in an element are relative to: its xml:base, or that of the element around it.
func base(outer *url.URL, start xml.StartElement) *url.URL {
	for _, a := range start.Attr {
		if a.Name.Local != "base" || a.Name.Space != "http://www.w3.org/XML/1998/namespace" || len(a.Value) > maxBase {
			continue
		}
		inner, err := url.Parse(strings.TrimSpace(a.Value))
		if err != nil {
			return outer
		}
		if outer != nil {
			inner = outer.ResolveReference(inner)
		}
		if len(inner.Path) <= maxBase {
			return inner
		}
	}
	return outer
}

// resolve returns an address in relation to a base, which names a folder. Without a base the address stays as it is.
func resolve(base *url.URL, address string) string {
	if base == nil || address == "" || len(address) > maxURL {
		return address
	}
	relative, err := url.Parse(address)
	if err != nil {
		return address
	}
	folder := *base
	if folder.Path != "" && !strings.HasSuffix(folder.Path, "/") {
		folder.Path += "/"
	}
	return folder.ResolveReference(relative).String()
}
