package process_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"orgops/local/process"
	"orgops/shared/domain/parked"
	"orgops/shared/run/config"
	"orgops/shared/testkit/webtest"
	"orgops/shared/testkit/worktest"
)

// TestRun_SlowRequest blocks a request for its whole drain time: attempts in flight still get their own drain time.
func TestRun_SlowRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := config.Config{Data: t.TempDir(), Issuer: "https://orgops.test", Audience: "orgops"}
		p, err := process.Open(t.Context(), c, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		asked, release := make(chan struct{}), make(chan struct{})
		p.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(asked); <-release })
		ours, theirs := net.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx, webtest.Listener(theirs)) }()
		go io.WriteString(ours, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		<-asked
		begun := time.Now()
		stop()
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run with a request that has not ended: err = %v, want %v", err, context.DeadlineExceeded)
		}
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("Run ended after %v, want 30 s at most", took)
		}
		if strings.Contains(log.String(), "cut off") {
			t.Errorf("attempts were cut off:\n%s", log.String())
		}
		close(release)
		_, _ = io.Copy(io.Discard, ours) // until the connection closes
	})
}

// TestRun_Hangs ends when a worker hangs, so that the next start finds what it hangs at.
func TestRun_Hangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config.Config{Data: t.TempDir(), Issuer: "https://orgops.test", Audience: "orgops"}
		p, err := process.Open(t.Context(), c, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		released := make(chan struct{})
		p.Services.Store = worktest.Stuck{Store: p.Services.Store, Released: released}
		ours, theirs := net.Pipe()
		defer ours.Close()
		if err := p.Run(t.Context(), webtest.Listener(theirs)); !errors.Is(err, parked.ErrHung) {
			t.Errorf("Run with a ticker that hangs: err = %v, want %v", err, parked.ErrHung)
		}
		close(released)
	})
}
