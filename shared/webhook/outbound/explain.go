package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"orgops/shared/base/text"
)

const maxExplanation = 200

// Explain describes briefly why a request got no answer. The tenant that configured the URL may see the text, so it names
// neither the URL, nor the service's resolver, nor the address that a name resolved to.
func Explain(err error) string {
	var address *AddressError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &address):
		return "the host's address is not public"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &dns):
		return explainDNS(dns)
	case errors.As(err, &certificate):
		return clip("the certificate is not accepted: " + certificate.Err.Error())
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the answer ended"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no connection in time"
	}
	return clip(err.Error())
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
