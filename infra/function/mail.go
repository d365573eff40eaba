package function

import (
	"fmt"
	"net/mail"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
)

// Mails lets the function send mails from one address alone, whose domain or address SES has verified in this account. Without an
// address the function sends none.
func (f *Function) Mails(s Settings) {
	if s.MailFrom == "" {
		return
	}
	from, err := mail.ParseAddress(s.MailFrom)
	if err != nil { // the settings refuse it
		panic(err)
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	f.Set("ORGOPS_MAIL_FROM", s.MailFrom)
	stack := awscdk.Stack_Of(f.Function)
	f.Set("ORGOPS_MAIL_SET", s.MailSet)
	arn := func(kind, name string) string {
		return fmt.Sprintf("arn:%s:ses:%s:%s:%s/%s", *stack.Partition(), *stack.Region(), *stack.Account(), kind, name)
	}
	f.Allow([]string{"ses:SendRawEmail", "ses:SendEmail"}, map[string]any{
		"StringEquals": map[string]any{"ses:FromAddress": from.Address},
	}, arn("identity", domain), arn("identity", from.Address), arn("configuration-set", s.MailSet))
}
