package webfeed

import (
	"strings"

	"golang.org/x/net/html"
)

// maxLine limits a title that is taken from other text, in characters.
const maxLine = 200

// text returns the text of an HTML fragment without markup, scripts and styles. A block element begins a new line. In
// plain text, only white space changes.
func text(fragment string) string {
	fragment = strings.ToValidUTF8(fragment, "\uFFFD")
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(fragment))
	hidden := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return tidy(b.String())
		case html.TextToken:
			if hidden == "" {
				b.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name := tagName(z)
			if hidden == "" && (name == "script" || name == "style") {
				hidden = name
			}
			b.WriteString(gap(name))
		case html.EndTagToken:
			name := tagName(z)
			if name == hidden {
				hidden = ""
			}
			b.WriteString(gap(name))
		}
	}
}

func tagName(z *html.Tokenizer) string {
	name, _ := z.TagName()
	return string(name)
}

// gap returns the white space that separates an element from the text around it.
func gap(name string) string {
	switch name {
	case "p", "div", "br", "li", "ul", "ol", "tr", "table", "blockquote", "pre", "section", "article", "hr",
		"h1", "h2", "h3", "h4", "h5", "h6", "figure", "figcaption", "dt", "dd":
		return "\n"
	case "td", "th":
		return " "
	}
	return ""
}

// tidy collapses runs of white space and drops empty lines.
func tidy(s string) string {
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		if l = strings.Join(strings.Fields(l), " "); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// line returns the first line of s, cut to maxLine characters.
func line(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	n := 0
	for i := range s {
		if n++; n > maxLine {
			return s[:i] + "…"
		}
	}
	return s
}
