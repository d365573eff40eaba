// Package slack writes messages for Slack and sends them.
package slack

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"orgops/shared/domain/notice"
)

// Message holds a message as Slack takes it. Slack makes no preview of its links.
type Message struct {
	Text        string  `json:"text"` // for notifications, and for programs that show no blocks
	Blocks      []Block `json:"blocks"`
	UnfurlLinks bool    `json:"unfurl_links"`
	UnfurlMedia bool    `json:"unfurl_media"`
}

// Block holds one part of a message.
type Block struct {
	Type     string `json:"type"`
	Text     *Text  `json:"text,omitempty"`
	Fields   []Text `json:"fields,omitempty"`
	Elements []any  `json:"elements,omitempty"`
}

// Text holds a text. Verbatim keeps Slack from making links of names and addresses in it.
type Text struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Verbatim bool   `json:"verbatim,omitempty"`
}

// Limits of Slack, in characters of the escaped text; of the fields of a section; and ours of the blocks of a message.
const (
	maxHeader  = 150
	maxItem    = 500 // as long as a sentence of a notice
	maxSection = 3000
	maxFields  = 10
	maxBlocks  = 20 // Slack takes 50, and about 13,000 characters
	maxText    = 3000
)

// Escape returns a text for a message, in which nothing is a command to Slack: no mention, link, date or format. limit bounds the
// result, in characters.
func Escape(text string, limit int) string {
	var b strings.Builder
	left := limit - 1 // for the sign that the text was cut
	text = strings.Join(strings.Fields(notice.Visible(text)), " ")
	for n, r := range text {
		part, ok := escapes()[r]
		if !ok {
			part = string(r)
		}
		size := utf8.RuneCountInString(part)
		if last := n+utf8.RuneLen(r) == len(text); left < size && (!last || left+1 < size) {
			b.WriteRune('…')
			break
		}
		left -= size
		b.WriteString(part)
	}
	return b.String()
}

// escapes returns what stands for the characters that Slack acts on. Its markup has no sign that takes a format character literally,
// so a character that looks alike stands for each.
func escapes() map[rune]string {
	return map[rune]string{
		'&': "&amp;", '<': "&lt;", '>': "&gt;", '*': "∗", '_': "＿", '~': "∼", '`': "ˋ",
	}
}

// Write writes the message of a notice. Kept is its text for the records.
func Write(subject, why string, content notice.Content, base, companyID string) (m Message, kept string) {
	m = Message{Text: Escape(subject, maxText), Blocks: []Block{{Type: "header", Text: &Text{Type: "plain_text", Text: Escape(subject, maxHeader)}}}}
	lines := []string{subject}
	for _, p := range content.Paragraphs {
		m.section(Escape(p, maxSection))
		lines = append(lines, p)
	}
	for _, s := range content.Sections {
		items := []string{"*" + Escape(s.Title, maxHeader) + "*"}
		for _, item := range s.Items {
			items = append(items, "• "+Escape(item, maxItem))
			lines = append(lines, item)
		}
		m.sections(items)
	}
	lines = append(lines, m.facts(content.Facts)...)
	m.Blocks = m.Blocks[:min(len(m.Blocks), maxBlocks)]
	if content.Link != nil {
		address := content.Link.Address(base, companyID)
		m.section("<" + address + "|" + Escape(content.Link.Label, maxHeader) + ">")
		lines = append(lines, address)
	}
	m.Blocks = append(m.Blocks, Block{Type: "context", Elements: []any{markup(Escape(why, maxSection))}})
	return m, strings.Join(lines, "\n")
}

func markup(text string) *Text { return &Text{Type: "mrkdwn", Text: text, Verbatim: true} }

func (m *Message) section(text string) {
	m.Blocks = append(m.Blocks, Block{Type: "section", Text: markup(text)})
}

// sections adds lines, in as many sections as they need.
func (m *Message) sections(lines []string) {
	text := ""
	for _, line := range lines {
		if utf8.RuneCountInString(text)+utf8.RuneCountInString(line)+1 > maxSection {
			m.section(text)
			text = ""
		}
		text = strings.TrimPrefix(text+"\n"+line, "\n")
	}
	m.section(text)
}

// date writes a time that Slack shows in the zone of each reader.
func date(at time.Time) string {
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time}|%s>", at.Unix(), at.UTC().Format("2006-01-02 15.04 UTC"))
}

// facts adds the facts as fields, and returns them as lines.
func (m *Message) facts(facts []notice.Fact) (lines []string) {
	var fields []Text
	for _, f := range facts {
		value, line := Escape(f.Value, maxSection/maxFields), f.Value
		if !f.At.IsZero() {
			line = f.At.UTC().Format(time.RFC3339)
			value = date(f.At)
		}
		fields = append(fields, *markup("*" + Escape(f.Name, maxHeader) + "*\n" + value))
		lines = append(lines, f.Name+": "+line)
	}
	for len(fields) > 0 {
		n := min(len(fields), maxFields)
		m.Blocks = append(m.Blocks, Block{Type: "section", Fields: fields[:n]})
		fields = fields[n:]
	}
	return lines
}
