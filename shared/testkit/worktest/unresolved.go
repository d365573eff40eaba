package worktest

import (
	"net"
	"net/http"
	"time"

	"orgops/shared/webhook/outbound"
)

// Unresolved stands for a network whose host names cannot be resolved. It notes how much time each request had.
type Unresolved struct{ Budgets chan time.Duration }

// NewUnresolved makes the network, and a client on it.
func NewUnresolved() (*Unresolved, *outbound.Client) {
	u := &Unresolved{Budgets: make(chan time.Duration, 16)}
	return u, outbound.New(outbound.Options{Transport: u})
}

// RoundTrip implements http.RoundTripper.
func (u *Unresolved) RoundTrip(r *http.Request) (*http.Response, error) {
	until, _ := r.Context().Deadline()
	u.Budgets <- time.Until(until)
	return nil, &net.DNSError{Err: "no such host", Name: r.URL.Host, IsNotFound: true}
}
