// Package sesmail sends mails by Amazon SES, as written bytes. SES replaces Message-ID and Date, so a mail that is sent again after a
// lost answer has another Message-ID.
package sesmail

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"

	"orgops/shared/base/awsclient"
	contract "orgops/shared/storage/mail"
	"orgops/shared/storage/mail/mailform"
	"orgops/shared/storage/mail/sesevent"
)

// timeout limits one call.
const timeout = 15 * time.Second

// Sender sends mails by SES.
type Sender struct {
	client *sesv2.Client
	from   mail.Address
	set    string // of the configuration; "": SES tells of no mail that comes back
}

// New makes a Sender. from is an address of an identity that SES has verified. set names the configuration set by which SES tells of
// mails that come back; "" stands for none.
func New(a awsclient.Access, from mail.Address, set string) *Sender {
	return &Sender{from: from, set: set, client: sesv2.New(sesv2.Options{
		Region: a.Region, Credentials: a.Credentials, HTTPClient: a.HTTPClient.WithTimeout(timeout), BaseEndpoint: a.BaseEndpoint("SESV2"),
		Retryer: aws.NopRetryer{}, // the call has no token against repeats, so the caller decides on each
	})}
}

// Send implements mail.Sender.
func (s *Sender) Send(ctx context.Context, m contract.Message) error {
	text, err := mailform.Bytes(s.from, m)
	if err != nil {
		return err
	}
	call := &sesv2.SendEmailInput{
		Destination: &types.Destination{ToAddresses: []string{m.To}},
		Content:     &types.EmailContent{Raw: &types.RawMessage{Data: text}},
	}
	if s.set != "" {
		call.ConfigurationSetName = &s.set
		call.EmailTags = []types.MessageTag{
			{Name: aws.String(sesevent.CompanyTag), Value: &m.Company}, {Name: aws.String(sesevent.UserTag), Value: &m.UserID},
		}
	}
	_, err = s.client.SendEmail(ctx, call)
	var refused *types.MessageRejected
	var bad *types.BadRequestException
	switch {
	case errors.As(err, &refused), errors.As(err, &bad):
		return &contract.RefusedError{Code: 554}
	case err != nil:
		return fmt.Errorf("send by SES: %w", err)
	}
	return nil
}
