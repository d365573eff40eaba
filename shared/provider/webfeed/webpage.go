package webfeed

import (
	"html"
	"net/url"
	"slices"
	"strings"
)

// pageError reports a web page in the place of a feed.
type pageError struct{ feed string } // the feed that it names, or ""

func (e *pageError) Error() string { return "a web page" }

// maxHead limits how many bytes of a document are searched for a web page and its feed.
const maxHead = 512 << 10

// htmlSpace is the white space of HTML.
const htmlSpace = " \t\r\n\f"

// isPage reports whether a document is HTML, after an XML declaration and comments.
func isPage(head string) bool {
	for {
		head = strings.TrimLeft(head, htmlSpace)
		switch {
		case strings.HasPrefix(head, "<?"):
			head = after(head, ">")
		case strings.HasPrefix(head, "<!--"):
			head = after(head, "-->")
		default:
			rest, ok := cutWord(head, "<!doctype")
			if ok {
				rest, ok = cutWord(strings.TrimLeft(rest, htmlSpace), "html")
			} else {
				rest, ok = cutWord(head, "<html")
			}
			return ok && rest != ""
		}
	}
}

// cutWord returns s without the word that it begins with, in any case. ok is false if it begins with another word.
func cutWord(s, word string) (rest string, ok bool) {
	if len(s) < len(word) || !strings.EqualFold(s[:len(word)], word) {
		return s, false
	}
	rest = s[len(word):]
	return rest, rest == "" || strings.ContainsRune(htmlSpace+"/>", rune(rest[0]))
}

// pageOf returns the error for a web page. It names the page's feed if the page does.
func pageOf(head string, address *url.URL) error {
	for head != "" {
		tag, ok := cutWord(after(head, "<"), "link")
		if head = after(head, "<"); !ok {
			continue
		}
		head = tagEnd(tag)
		href := feedOf(tag[:len(tag)-len(head)])
		if href == "" {
			continue
		}
		if at := resolve(address, href); isWeb(at) && len(at) <= maxURL {
			return &pageError{at}
		}
	}
	return &pageError{}
}

// feedOf returns the address that a link with these attributes has of a feed, "" if it is another link.
func feedOf(attributes string) string {
	var format, rel, href string
	for attributes != "" {
		var name, value string
		name, value, attributes = cutAttribute(attributes)
		switch {
		case strings.EqualFold(name, "type"):
			format = value
		case strings.EqualFold(name, "rel"):
			rel = value
		case strings.EqualFold(name, "href"):
			href = value
		}
	}
	format, _, _ = strings.Cut(format, ";")
	switch strings.ToLower(strings.TrimSpace(format)) {
	case "application/rss+xml", "application/atom+xml", "application/feed+json":
	default:
		return ""
	}
	if !slices.ContainsFunc(strings.Fields(rel), func(word string) bool { return strings.EqualFold(word, "alternate") }) {
		return ""
	}
	return strings.TrimSpace(html.UnescapeString(href))
}

// cutAttribute returns the first attribute of a tag, and the rest of the tag.
func cutAttribute(tag string) (name, value, rest string) {
	tag = strings.TrimLeft(tag, htmlSpace+"/>=")
	name = upTo(tag, htmlSpace+"/>=")
	rest = strings.TrimLeft(tag[len(name):], htmlSpace)
	if !strings.HasPrefix(rest, "=") {
		return name, "", rest
	}
	rest = strings.TrimLeft(rest[len("="):], htmlSpace)
	if quote := rest[:min(1, len(rest))]; quote == `"` || quote == "'" {
		value, rest, _ = strings.Cut(rest[len(quote):], quote)
		return name, value, rest
	}
	value = upTo(rest, htmlSpace+">")
	return name, value, rest[len(value):]
}

// upTo returns the beginning of s before the first of the characters.
func upTo(s, characters string) string {
	if n := strings.IndexAny(s, characters); n >= 0 {
		return s[:n]
	}
	return s
}
