package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"orgops/shared/base/text"
)

const maxExplanation = 200

// ErrNotHTTP reports an answer that is not valid HTTP.
var ErrNotHTTP = errors.New("the answer is not valid HTTP")

// withoutAnswer returns ErrNotHTTP in place of an error of net/http that quotes the answer. A server may send back what it was
// sent, such as a credential, and errors are logged and shown.
func withoutAnswer(err error) error {
	var certificate *tls.CertificateVerificationError
	if err == nil || errors.As(err, &certificate) {
		return err
	}
	if said := err.Error(); strings.Contains(said, `"`) || strings.Contains(said, "malformed") {
		return ErrNotHTTP
	}
	return err
}

// answerBody hides the text of a broken trailer, as withoutAnswer does.
type answerBody struct{ io.ReadCloser }

// Read implements io.Reader.
func (b answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader returns io.EOF itself
		err = withoutAnswer(err)
	}
	return n, err
}

// Explain describes briefly why a request got no answer. The tenant that configured the URL may see the text, so it names
// neither the URL, nor the service's resolver, nor the address that a name resolved to.
func Explain(err error) string {
	var address *AddressError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.Is(err, ErrOrigin):
		return ErrOrigin.Error()
	case errors.As(err, &address):
		return address.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &dns):
		return explainDNS(dns)
	case errors.As(err, &certificate):
		return clip("the certificate is not accepted: " + hideAddresses(certificate.Err.Error()))
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the answer ended"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no connection in time"
	}
	return clip(explainRest(err))
}

// explainRest describes a failed connection by its cause alone, because the error around it names both addresses. In any other
// error it hides addresses, such as those in a certificate's names.
func explainRest(err error) string {
	var op *net.OpError
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &op) && op.Err != nil:
		return hideAddresses(op.Err.Error())
	}
	return hideAddresses(err.Error())
}

// hideAddresses replaces every IP address in a text, with its port.
func hideAddresses(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		n := strings.IndexFunc(s, inAddress)
		if n < 0 {
			n = len(s)
		}
		b.WriteString(s[:n])
		s = s[n:]
		end := strings.IndexFunc(s, func(r rune) bool { return !inAddress(r) })
		if end < 0 {
			end = len(s)
		}
		word := strings.TrimRight(s[:end], ".:")
		if isAddress(word) {
			b.WriteString("an address")
		} else {
			b.WriteString(word)
		}
		b.WriteString(s[len(word):end])
		s = s[end:]
	}
	return b.String()
}

func inAddress(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF.:[]", r) }

func isAddress(word string) bool {
	if _, err := netip.ParseAddrPort(word); err == nil {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(word, "[]"))
	return err == nil
}

func explainDNS(err *net.DNSError) string {
	if err.IsNotFound {
		return clip(err.Name + " does not resolve")
	}
	return clip(err.Name + " could not be resolved; this may be temporary")
}

// clip keeps an error's text short and printable, because some errors quote what the server sent.
func clip(s string) string {
	return text.Truncate(strings.ToValidUTF8(s, "\uFFFD"), maxExplanation)
}
