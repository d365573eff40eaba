package feed

import (
	"strings"

	"golang.org/x/net/html"
)

// maxLine is how long a title made of other text may be, in characters.
const maxLine = 200

// text is the words of an HTML fragment, without markup, scripts and styles; a block begins a new line. Plain text stays
// as it is, but for its white space.
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

// gap is what an element's tag does to the text around it.
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

// tidy leaves single spaces and drops empty lines.
func tidy(s string) string {
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		if l = strings.Join(strings.Fields(l), " "); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// line is the first line of s, at most maxLine characters of it.
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
