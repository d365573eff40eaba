package edge

import (
	"net/http"
	"time"
)

// Limits of a request's header and of the time that connections take. Requests are short; the longest, a certification, has its own
// budget of 20 s.
const (
	MaxHeader         = 32 << 10
	readHeaderTimeout = 5 * time.Second
	writeTimeout      = 45 * time.Second
	idleTimeout       = 2 * time.Minute

	headerSlack = 4 << 10 // net/http reads so much more than it is told to
)

// NewServer makes a server with the limits. It serves HTTP/1.1; a proxy in front may speak other versions to its clients.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, MaxHeaderBytes: MaxHeader - headerSlack, ReadHeaderTimeout: readHeaderTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
	}
}
