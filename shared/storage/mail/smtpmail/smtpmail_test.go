package smtpmail_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	contract "orgops/shared/storage/mail"
	"orgops/shared/storage/mail/smtpmail"
	"orgops/shared/testkit/errtest"
)

// host is a mail host that keeps what it takes.
type host struct {
	addr string

	mu    sync.Mutex
	taken []string
	rcpt  error          // of RCPT
	after func(net.Conn) // of a mail that was taken, before the answer
	data  error
}

// session is one connection to a host.
type session struct {
	*host
	conn net.Conn
}

func (h *host) NewSession(c *smtp.Conn) (smtp.Session, error) { return &session{h, c.Conn()}, nil }

func (s *session) Mail(string, *smtp.MailOptions) error { return nil }
func (s *session) Rcpt(string, *smtp.RcptOptions) error { return s.rcpt }
func (s *session) Reset()                               {}
func (s *session) Logout() error                        { return nil }

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.data != nil {
		return s.data
	}
	s.mu.Lock()
	s.taken = append(s.taken, string(text))
	s.mu.Unlock()
	if s.after != nil {
		s.after(s.conn)
	}
	return nil
}

// serve starts a host. certificate nil: it offers no TLS.
func serve(t *testing.T, certificate *tls.Certificate, edit func(*host)) *host {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	h := &host{addr: l.Addr().String()}
	if edit != nil {
		edit(h)
	}
	s := smtp.NewServer(h)
	s.Domain = "localhost"
	if certificate != nil {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*certificate}}
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return h
}

// certificate makes a certificate of a host, and the authorities that trust it.
func certificate(t *testing.T, name string) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	errtest.Must(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	errtest.Must(t, err)
	parsed, err := x509.ParseCertificate(der)
	errtest.Must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

var from = mail.Address{Name: "Orgops", Address: "orgops@example.com"}

func send(t *testing.T, host string, edit func(*contract.Message)) error {
	t.Helper()
	s, err := smtpmail.New("smtp://"+host, from, nil)
	errtest.Must(t, err)
	return sendBy(t, s, edit)
}

func sendBy(t *testing.T, s *smtpmail.Sender, edit func(*contract.Message)) error {
	t.Helper()
	m := contract.Message{
		ID: "0198c5f2", To: "ada@example.org", Subject: "Hello", Text: "text", HTML: "<p>html</p>", Thread: "root", At: time.Unix(1e9, 0),
	}
	if edit != nil {
		edit(&m)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	return s.Send(ctx, m)
}

func port(h *host) string { return h.addr[strings.LastIndexByte(h.addr, ':'):] }

func TestSend(t *testing.T) {
	t.Parallel()
	h := serve(t, nil, nil)
	errtest.Must(t, send(t, h.addr, func(m *contract.Message) {
		m.Subject, m.FromName, m.Stop = "Hi\r\nBcc: eve@evil.test", "Acme\r\nX: y", "https://ops.example.com/auth/unsubscribe/t"
	}))
	if len(h.taken) != 1 {
		t.Fatalf("mails = %d, want 1", len(h.taken))
	}
	got := h.taken[0]
	for _, want := range []string{
		"Message-ID: <0198c5f2@example.com>\r\n", "References: <root@example.com>\r\n", "Auto-Submitted: auto-generated\r\n",
		"To: <ada@example.org>\r\n", "text/plain", "text/html",
		"List-Unsubscribe: <https://ops.example.com/auth/unsubscribe/t>\r\n", "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the mail lacks %q:\n%s", want, got)
		}
	}
	for _, not := range []string{"\r\nBcc:", "\r\nX: y", "User-Agent", "X-Mailer", "go-mail"} {
		if strings.Contains(got, not) {
			t.Errorf("the mail has %q:\n%s", not, got)
		}
	}
}

// Nothing goes to another machine in the clear, or to one whose certificate is not its own.
func TestSend_TLS(t *testing.T) {
	t.Parallel()
	own, trusts := certificate(t, "localhost")
	foreign, trustsForeign := certificate(t, "mail.evil.test")
	tests := []struct {
		name        string
		certificate *tls.Certificate
		roots       *x509.CertPool
		taken       bool
	}{
		{"no STARTTLS", nil, trusts, false},
		{"its own certificate", own, trusts, true},
		{"a certificate of another host", foreign, trustsForeign, false},
		{"a certificate that nobody trusts", own, nil, false},
	}
	for _, tt := range tests {
		h := serve(t, tt.certificate, nil)
		s, err := smtpmail.NewAway("smtp://localhost"+port(h), from, tt.roots)
		errtest.Must(t, err)
		err = sendBy(t, s, nil)
		if (err == nil) != tt.taken {
			t.Errorf("%s: error %v, want the mail taken: %t", tt.name, err, tt.taken)
		}
		if (len(h.taken) == 1) != tt.taken {
			t.Errorf("%s: mails taken = %d, want it taken: %t", tt.name, len(h.taken), tt.taken)
		}
	}
}

func TestSend_Refused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		edit      func(*host)
		refused   bool
		noMailbox bool
	}{
		{"no mailbox", func(h *host) {
			h.rcpt = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no"}
		}, true, true},
		{"policy", func(h *host) {
			h.data = &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "no"}
		}, true, false},
		{"full", func(h *host) {
			h.rcpt = &smtp.SMTPError{Code: 452, EnhancedCode: smtp.EnhancedCode{4, 2, 2}, Message: "later"}
		}, false, false},
		{"lost after the last line", func(h *host) { h.after = func(c net.Conn) { _ = c.Close() } }, false, false},
	}
	for _, tt := range tests {
		h := serve(t, nil, tt.edit)
		err := send(t, h.addr, nil)
		var refused *contract.RefusedError
		if err == nil {
			t.Fatalf("%s: no error, want one", tt.name)
		}
		if got := errors.As(err, &refused); got != tt.refused {
			t.Errorf("%s: error %v, want refused for good: %t", tt.name, err, tt.refused)
			continue
		}
		if tt.refused && refused.BadAddress() != tt.noMailbox {
			t.Errorf("%s: no mailbox = %t, want %t (%v)", tt.name, refused.BadAddress(), tt.noMailbox, err)
		}
		if strings.Contains(err.Error(), "ada@") {
			t.Errorf("%s: error %q names the recipient", tt.name, err)
		}
	}
}

func TestNew_Refused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "mail.example.com:587", "http://mail.example.com", "smtp://", "smtp://a/b", "smtp://a?tls=no", "smtp://a?", "smtp://a#b", "smtp://a#", "smtp://a:x", "smtp://a:",
		"smtp://a:0", "smtp://a:70000", "smtp://a b", " smtp://a", "smtp://a\n", "smtp://a\\b", "smtp:a", "smtp://u:%zz@a", "smtp://[fe80::1%eth0"} {
		if _, err := smtpmail.New(address, mail.Address{Address: "a@b.test"}, nil); !errors.Is(err, smtpmail.ErrURL) {
			t.Errorf("New(%q): err = %v, want ErrURL", address, err)
		}
	}
}
