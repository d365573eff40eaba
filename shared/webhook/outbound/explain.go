package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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

// brokenError says in plain words why a request got no usable answer.
type brokenError string

func (e brokenError) Error() string { return string(e) }

// plain replaces an error of net/http, crypto/tls or a library below by one in plain words, unless Explain knows its type. Such an
// error may quote the answer: a server may send back what it was sent, such as a credential, and errors are logged and shown.
func plain(err error) error {
	if err == nil || known(err) != "" {
		return err
	}
	said := err.Error()
	for _, f := range failures() {
		for _, sign := range f.signs {
			if strings.Contains(said, sign) {
				return f.err
			}
		}
	}
	return brokenError("the request failed before its answer ended")
}

// failure gives the words for the errors whose text has one of the signs.
type failure struct {
	signs []string
	err   error
}

// failures lists what can be told from the text alone. The first that fits counts.
func failures() []failure {
	return []failure{
		{[]string{"GOAWAY"}, brokenError("the server closed the connection before it answered (HTTP/2 GOAWAY)")},
		{[]string{"headers exceeded", "header list larger", "header list too large"}, brokenError("the answer's header is larger than 32 KiB")},
		{[]string{"HTTP response to HTTPS client", "does not look like a TLS handshake"}, brokenError("the server answers without TLS; check the scheme and the port of the url")},
		{[]string{`malformed HTTP response "\x15\x03`}, brokenError("the server answers with TLS; configure an https url")},
		{[]string{"protocol version"}, brokenError("the server offers no TLS version from 1.2 on")},
		{[]string{"handshake failure", "no application protocol"}, brokenError("the server refused the TLS handshake")},
		{[]string{"tls: "}, brokenError("the TLS connection failed")},
		{[]string{"server closed idle connection", "client connection lost", "connection is shutting down", "closed network connection"}, brokenError("the connection was closed before the answer ended")},
		{[]string{"received from peer"}, brokenError("the server ended the request without an answer (HTTP/2 RST_STREAM)")},
		{[]string{"stream error", "http2: ", "PROTOCOL_ERROR"}, brokenError("the server broke off the answer, or sent one that is not valid HTTP/2, or whose header is larger than 32 KiB")},
		{[]string{`"`, "malformed", "HTTP/1.x", "chunk", "trailer", "Content-Length", "invalid header"}, ErrNotHTTP},
	}
}

// answerBody explains a broken body or trailer, as plain does.
type answerBody struct {
	io.ReadCloser
	stop context.CancelCauseFunc // ends the request's context
}

// Close implements io.Closer.
func (b answerBody) Close() error {
	defer b.stop(nil)
	return b.ReadCloser.Close()
}

// Read implements io.Reader.
func (b answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader returns io.EOF itself
		err = plain(err)
	}
	return n, err
}

// Explain describes briefly why a request got no answer. The tenant that configured the URL may see the text, so it names
// neither the URL, nor the service's resolver, nor the address that a name resolved to.
func Explain(err error) string {
	if said := known(err); said != "" {
		return clip(said)
	}
	var broken brokenError
	if errors.As(err, &broken) {
		return broken.Error()
	}
	return clip(hideAddresses(err.Error()))
}

// Cause describes why a connection failed, as Explain does. It returns "" for an error whose text is not safe to show.
func Cause(err error) string { return clip(known(err)) }

// known describes an error by its type. It returns "" for an unknown type.
func known(err error) string {
	var address *AddressError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	var errno syscall.Errno
	switch {
	case errors.Is(err, ErrOrigin):
		return ErrOrigin.Error()
	case errors.Is(err, ErrNotHTTP):
		return ErrNotHTTP.Error()
	case errors.As(err, &address):
		return address.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &dns):
		return explainDNS(dns)
	case errors.As(err, &certificate):
		return explainCertificate(certificate.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.As(err, &errno) && !errno.Timeout(): // the error around it names both addresses
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the answer ended"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no connection in time"
	}
	return ""
}

// explainCertificate says why a certificate is not accepted. It names neither hosts nor addresses of the certificate.
func explainCertificate(err error) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, new(x509.HostnameError)):
		return "the certificate is not accepted: it is for another host"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "the certificate is not accepted: its authority is unknown; use a public one, or have the operator of the service add yours"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate is not accepted: it has expired, or is not valid yet"
	}
	return "the certificate is not accepted: it is not a valid certificate of a server"
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
