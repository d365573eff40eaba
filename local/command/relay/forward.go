package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"orgops/shared/base/wait"
)

// answerWithin bounds an attempt, as in production.
const answerWithin = 15 * time.Second

// Waits between tries while nothing listens at the local address.
const (
	firstRedial = 100 * time.Millisecond
	maxRedial   = 2 * time.Second
)

// forward posts a delivery and prints a line about it. While nothing listens at the address, it waits: the developer is
// restarting the receiver. Any answer counts, as a retry would only repeat it. It returns an error only if ctx ended.
func (s *session) forward(ctx context.Context, d held, payload []byte) error {
	pause, told := firstRedial, false
	for {
		begun := time.Now()
		result, err := s.attempt(ctx, d.ID, payload)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !refused(err) {
			if err != nil {
				result = err.Error()
			}
			fmt.Fprintf(s.Out, "%s  %-26s %s -> %s (%d ms)\n", clock(begun), d.Event, d.ID, result, time.Since(begun).Milliseconds())
			return nil
		}
		if !told {
			fmt.Fprintf(s.Out, "%s  waiting for a receiver: %v\n", clock(begun), err)
			told = true
		}
		if !wait.For(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, maxRedial)
	}
}

// refused reports whether no connection was made.
func refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// attempt posts one delivery, signed now, and returns the answer's status.
func (s *session) attempt(ctx context.Context, id string, payload []byte) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Forward, bytes.NewReader(payload))
	if err != nil {
		return "", err
	}
	req.Header = s.signer.Headers(id, payload, time.Now())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "orgops-webhooks")
	resp, err := s.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection is used again
	return resp.Status, nil
}
