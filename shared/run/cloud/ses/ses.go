// Package ses opens the way that mails go from AWS.
package ses

import (
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/mail/sesmail"
)

// Add adds Amazon SES to a function's parts. Without ORGOPS_MAIL_FROM the function sends no mails.
func Add(c *cloud.Cloud, p *boot.Parts) {
	if c.Config.MailFrom == "" {
		return
	}
	from, err := mail.ParseFrom(c.Config.MailFrom)
	if err != nil {
		c.Need("ORGOPS_MAIL_FROM as an e-mail address", "")
		return
	}
	p.Mail = sesmail.New(c.Access, *from, c.Config.MailSet)
}
