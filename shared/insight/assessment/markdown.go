package assessment

import (
	"fmt"
	"strings"
)

// Markdown returns the brief as CommonMark: the headline, and a list for each section that has sentences. Each sentence ends
// with a link to its first evidence.
func (b Brief) Markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n", escaped(b.Headline))
	for _, s := range b.Sections {
		if len(s.Items) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n## %s\n\n", escaped(s.Title))
		for _, item := range s.Items {
			fmt.Fprintf(&text, "- %s [Show](<%s>)\n", escaped(item.Text), item.Evidence[0])
		}
	}
	return text.String()
}

// escaped returns text that CommonMark shows as it is. Titles come from other systems, so they may hold any character.
func escaped(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r < ' ':
			r = ' '
		case strings.ContainsRune("\\`*_[]<>#|~!&", r):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
