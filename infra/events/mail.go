package events

import (
	"fmt"
	"net/mail"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"orgops/infra/data"
)

// mails connects the notifier. It sends from one address alone, whose domain or address SES has verified in this account.
func (e *Events) mails(p Props) {
	p.Data.Read(e.Notifier, data.Companies)
	p.Data.Write(e.Notifier, data.Companies, data.Timers)
	p.Data.Unseal(e.Notifier)
	e.Notices.WorkedBy(e.Notifier)
	p.API.Issue(e.Notifier)
	if p.MailFrom == "" {
		return
	}
	from, err := mail.ParseAddress(p.MailFrom)
	if err != nil { // the settings refuse it
		panic(err)
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	e.Notifier.Set("ORGOPS_MAIL_FROM", p.MailFrom)
	stack := awscdk.Stack_Of(e.Notifier.Function)
	identity := func(name string) string {
		return fmt.Sprintf("arn:%s:ses:%s:%s:identity/%s", *stack.Partition(), *stack.Region(), *stack.Account(), name)
	}
	e.Notifier.Allow([]string{"ses:SendRawEmail", "ses:SendEmail"}, map[string]any{
		"StringEquals": map[string]any{"ses:FromAddress": from.Address},
	}, identity(domain), identity(from.Address))
}
