// Package smtpmail sends mails by SMTP. It never sends one in the clear to another machine.
package smtpmail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	contract "orgops/shared/storage/mail"
	"orgops/shared/storage/mail/mailform"
)

// timeout limits one mail, from the connection to the answer after its last line.
const timeout = 30 * time.Second

// ErrURL reports an address of no mail host.
var ErrURL = errors.New("must be an address such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the first byte")

// Sender sends mails through one host.
type Sender struct {
	from    mail.Address
	host    string
	options []gomail.Option
}

// New makes a Sender from an address: smtp:// demands STARTTLS, smtps:// begins with TLS. A host on this machine may do without,
// because what is sent leaves no machine. roots are the authorities that the host's certificate may have; nil: the system's.
func New(address string, from mail.Address, roots *x509.CertPool) (*Sender, error) {
	return open(address, from, roots, onLoopback)
}

// open makes a Sender. here reports whether a host is this machine.
func open(address string, from mail.Address, roots *x509.CertPool, here func(host string) bool) (*Sender, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" || strings.ContainsAny(address, "?#") || strings.HasSuffix(u.Host, ":") {
		return nil, ErrURL
	}
	s := &Sender{from: from, host: u.Hostname(), options: []gomail.Option{
		gomail.WithTimeout(timeout), gomail.WithHELO("orgops"), gomail.WithoutNoop(),
		gomail.WithTLSConfig(&tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12, RootCAs: roots}),
	}}
	port := 587
	switch {
	case u.Scheme == "smtps":
		port = 465
		s.options = append(s.options, gomail.WithSSL())
	case u.Scheme != "smtp":
		return nil, ErrURL
	case here(u.Hostname()):
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	default:
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, ErrURL
		}
	}
	s.options = append(s.options, gomail.WithPort(port))
	if u.User != nil {
		password, _ := u.User.Password()
		s.options = append(s.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	_, err = gomail.NewClient(s.host, s.options...)
	if err != nil {
		return nil, ErrURL
	}
	return s, nil
}

// onLoopback reports whether a host is this machine. It resolves no name but localhost.
func onLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

// Send implements mail.Sender. Each mail has its own connection, since a host may refuse all recipients of a message for one.
func (s *Sender) Send(ctx context.Context, m contract.Message) error {
	msg, err := mailform.Form(s.from, m)
	if err != nil {
		return err
	}
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	err = client.DialAndSendWithContext(ctx, msg)
	if msg.IsDelivered() { // an error of the farewell comes after the host has taken the mail
		return nil
	}
	return outcome(err)
}

// outcome tells a refusal from a failure that a later try may not have. An answer 5xx refuses; a lost connection has no code. The
// library's text may name the recipient, so it is left out.
func outcome(err error) error {
	var failed *gomail.SendError
	if !errors.As(err, &failed) {
		return errUnreached
	}
	if failed.ErrorCode() >= 500 {
		return &contract.RefusedError{Code: failed.ErrorCode(), Enhanced: failed.EnhancedStatusCode()}
	}
	return fmt.Errorf("the mail host did not take the mail (%s, answer %d); it is tried again", failed.Reason, failed.ErrorCode())
}

var errUnreached = errors.New("the mail host could not be reached, or its TLS or its password failed; check ORGOPS_SMTP_URL")
