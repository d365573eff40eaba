// Package letter writes the mails of notices, as text and as HTML. Both say the same. A mail loads nothing and follows no reader.
package letter

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"strings"
	texttemplate "text/template"
	"time"

	"orgops/shared/domain/notice"
)

// Letter holds what a mail is written from.
type Letter struct {
	Company   string // the company's name
	CompanyID string
	Subject   string
	Why       string
	Content   notice.Content
	Base      string // the service's address, without a slash at the end
	Code      string // a single-use code; "": none
	CodePath  string // where the code is typed, below Base
	Stop      string // the address that ends mails of this kind; "": none
	Zone      *time.Location
}

// Mail holds a written mail.
type Mail struct{ Subject, Text, HTML string }

//go:embed mail.html mail.txt subject.txt
var files embed.FS

//nolint:gochecknoglobals // parsed once, and never changed
var (
	page    = template.Must(template.ParseFS(files, "mail.html"))
	plain   = texttemplate.Must(texttemplate.ParseFS(files, "mail.txt"))
	subject = texttemplate.Must(texttemplate.ParseFS(files, "subject.txt"))
)

// Hidden stands for a code in a text that is kept.
const Hidden = "••••••••"

// Write writes a mail. Kept is its text without the code and the link of its reader.
func Write(l Letter) (m Mail, kept string, err error) {
	l.Company = notice.Plain(l.Company)
	if l.Company == "" {
		l.Company = "Orgops"
	}
	for _, one := range []struct {
		write func(*bytes.Buffer) error
		into  *string
	}{
		{func(b *bytes.Buffer) error { return subject.Execute(b, l) }, &m.Subject},
		{func(b *bytes.Buffer) error { return plain.Execute(b, l) }, &m.Text},
		{func(b *bytes.Buffer) error { return page.Execute(b, l) }, &m.HTML},
	} {
		var b bytes.Buffer
		if err := one.write(&b); err != nil {
			return Mail{}, "", fmt.Errorf("write a mail: %w", err)
		}
		*one.into = b.String()
	}
	m.Subject = strings.TrimSpace(m.Subject)
	kept = m.Text
	if l.Code != "" {
		kept = strings.ReplaceAll(kept, l.Code, Hidden)
	}
	if l.Stop != "" { // a link of its reader alone
		kept = strings.ReplaceAll(kept, l.Stop, Hidden)
	}
	return m, kept, nil
}

// Preheader returns the line that mail programs show next to the subject.
func (l Letter) Preheader() string {
	if len(l.Content.Paragraphs) == 0 {
		return l.Why
	}
	return l.Content.Paragraphs[0]
}

// Shown returns a fact's value, a time in the reader's zone.
func (l Letter) Shown(f notice.Fact) string {
	if f.At.IsZero() {
		return f.Value
	}
	zone := l.Zone
	if zone == nil {
		zone = time.UTC
	}
	return f.At.In(zone).Format("Monday, 2 January 2006, 15:04 MST")
}

// Target returns the address of the mail's link.
func (l Letter) Target() string { return l.Content.Link.Address(l.Base, l.CompanyID) }

// CodeTarget returns the address where the code is typed. The code is no part of it: who fetches a mail's links must not use it up. Nor is
// the company, which the reader need not belong to: the code leads to it.
func (l Letter) CodeTarget() string { return l.Base + l.CodePath }
