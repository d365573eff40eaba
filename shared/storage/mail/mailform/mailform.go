// Package mailform writes a mail as the bytes that are sent (RFC 5322, MIME). Every driver of mail uses it.
package mailform

import (
	"bytes"
	"net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	contract "orgops/shared/storage/mail"
)

// Form returns a mail in the library's form. The library encodes line breaks and other special characters of headers.
func Form(from mail.Address, m contract.Message) (*gomail.Msg, error) {
	host := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	out := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingQP))
	if m.FromName != "" {
		from.Name = m.FromName
	}
	out.FromMailAddress(&from)
	to, err := mail.ParseAddress(m.To)
	if err != nil || to.Address != m.To {
		return nil, &contract.RefusedError{Enhanced: "5.1.2"}
	}
	out.ToMailAddress(to)
	if reply, err := mail.ParseAddress(m.ReplyTo); err == nil && reply.Address == m.ReplyTo {
		out.ReplyToMailAddress(reply)
	}

	out.Subject(m.Subject)
	out.SetDateWithValue(m.At)
	out.SetMessageIDWithValue(m.ID + "@" + host)
	out.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no one's absence note answers it
	if m.Stop != "" {
		out.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+m.Stop+">")
		out.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	if m.Thread != "" { // a root that no mail has: every mail of the thread refers to it
		out.SetGenHeader(gomail.HeaderReferences, "<"+m.Thread+"@"+host+">")
	}
	out.SetBodyString(gomail.TypeTextPlain, m.Text)
	out.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	return out, nil
}

// Bytes returns a mail as it is sent.
func Bytes(from mail.Address, m contract.Message) ([]byte, error) {
	out, err := Form(from, m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := out.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
