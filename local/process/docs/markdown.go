package docs

import (
	"html"
	"regexp"
	"strings"
)

// markdown makes HTML of the part of Markdown that the guides use: headings, paragraphs, lists, tables, code, emphasis and
// links. address returns where a link leads, or "" for a link that is shown as text. Every character of the text is escaped.
func markdown(text string, address func(string) string) string {
	r := renderer{address: address}
	for line := range strings.Lines(text) {
		r.line(strings.TrimRight(line, "\n"))
	}
	r.end()
	return r.out.String()
}

// renderer collects the block that the lines so far have begun.
type renderer struct {
	out     strings.Builder
	address func(string) string
	open    string // the element of the block: p, ul, ol, table, pre; "": none
	lines   []string
}

var (
	bullet   = regexp.MustCompile(`^- `)
	numbered = regexp.MustCompile(`^\d+\. `)
	divider  = regexp.MustCompile(`^\|[-|: ]+\|$`)
	code     = regexp.MustCompile("`([^`]+)`")
	link     = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)
	strong   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

func (r *renderer) line(line string) {
	switch {
	case strings.HasPrefix(line, "```"):
		was := r.open
		r.end()
		if was != "pre" {
			r.open = "pre"
		}
	case r.open == "pre":
		r.lines = append(r.lines, line)
	case line == "":
		r.end()
	case strings.HasPrefix(line, "#"):
		r.end()
		title := strings.TrimLeft(line, "#")
		tag := "h" + string(rune('0'+min(len(line)-len(title), 6)))
		r.element(tag, strings.TrimSpace(title))
	case strings.HasPrefix(line, "|"):
		r.begin("table", line)
	case bullet.MatchString(line):
		r.begin("ul", bullet.ReplaceAllString(line, ""))
	case numbered.MatchString(line):
		r.begin("ol", numbered.ReplaceAllString(line, ""))
	case len(r.lines) > 0 && r.open != "table": // continues a paragraph or an item
		r.lines[len(r.lines)-1] += " " + strings.TrimSpace(line)
	default:
		r.begin("p", line)
	}
}

// begin adds a line to the open block, or begins another.
func (r *renderer) begin(tag, line string) {
	if r.open != tag {
		r.end()
		r.open = tag
	}
	r.lines = append(r.lines, line)
}

// end writes the open block.
func (r *renderer) end() {
	tag, lines := r.open, r.lines
	r.open, r.lines = "", nil
	switch tag {
	case "":
	case "pre":
		r.out.WriteString("<pre><code>" + html.EscapeString(strings.Join(lines, "\n")) + "</code></pre>\n")
	case "table":
		r.table(lines)
	case "p":
		r.element("p", strings.Join(lines, " "))
	default:
		r.out.WriteString("<" + tag + ">\n")
		for _, item := range lines {
			r.element("li", item)
		}
		r.out.WriteString("</" + tag + ">\n")
	}
}

func (r *renderer) table(lines []string) {
	r.out.WriteString("<table>\n")
	for n, line := range lines {
		if divider.MatchString(line) {
			continue
		}
		cell := "td"
		if n == 0 {
			cell = "th"
		}
		r.out.WriteString("<tr>")
		for text := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			r.element(cell, strings.TrimSpace(text))
		}
		r.out.WriteString("</tr>\n")
	}
	r.out.WriteString("</table>\n")
}

func (r *renderer) element(tag, text string) {
	r.out.WriteString("<" + tag + ">" + r.inline(text) + "</" + tag + ">\n")
}

// inline renders a line's code, links and emphasis. Code is left as it is.
func (r *renderer) inline(text string) string {
	var b strings.Builder
	for {
		at := code.FindStringSubmatchIndex(text)
		if at == nil {
			b.WriteString(r.prose(text))
			return r.links(b.String())
		}
		b.WriteString(r.prose(text[:at[0]]) + "<code>" + html.EscapeString(text[at[2]:at[3]]) + "</code>")
		text = text[at[1]:]
	}
}

func (*renderer) prose(text string) string {
	return strong.ReplaceAllString(html.EscapeString(text), "<strong>$1</strong>")
}

// links makes the links of escaped text.
func (r *renderer) links(text string) string {
	return link.ReplaceAllStringFunc(text, func(found string) string {
		parts := link.FindStringSubmatch(found)
		to := r.address(html.UnescapeString(parts[2]))
		if to == "" {
			return parts[1]
		}
		return `<a href="` + html.EscapeString(to) + `">` + parts[1] + "</a>"
	})
}
