// Package listen is a receiver of webhooks for trying things out: it prints what arrives and whether its signature
// verifies, and answers as a good receiver does.
package listen

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"orgops/shared/webhook"
)

// Run listens until ctx ends.
func Run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("listen", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:4001", "host:port to listen on")
	secret := flags.String("secret", "", "signing secret (whsec_…) that deliveries must be signed with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &receiver{out: out, now: time.Now}
	if *secret != "" {
		if err := webhook.CheckSecret(*secret); err != nil {
			return fmt.Errorf("--secret: %w", err)
		}
		r.secrets = []string{*secret}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s; every POST is printed and verified, Ctrl-C ends\n", l.Addr())
	return serve(ctx, l, r)
}

// receiver answers 204 to what verifies, and 401 to what does not.
type receiver struct {
	secrets []string
	now     func() time.Time

	mu  sync.Mutex // one delivery is printed at a time
	out io.Writer
}

const maxBody = 1 << 20

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "post webhooks here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, "body too large or cut off", http.StatusBadRequest)
		return
	}
	status, verdict := r.verify(req.Header, body)
	r.print(req.Header, body, status, verdict)
	w.WriteHeader(status)
}

func (r *receiver) verify(h http.Header, body []byte) (status int, verdict string) {
	if len(r.secrets) == 0 {
		return http.StatusNoContent, "not verified: start with --secret to verify"
	}
	if _, err := webhook.Verify(r.secrets, h, body, r.now()); err != nil {
		return http.StatusUnauthorized, "REFUSED: " + err.Error()
	}
	return http.StatusNoContent, "signature verified"
}

func (r *receiver) print(h http.Header, body []byte, status int, verdict string) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "\n%s  %s -> %d\n", r.now().Format(time.TimeOnly), verdict, status)
	for _, name := range []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
		fmt.Fprintf(&text, "  %s: %s\n", name, h.Get(name))
	}
	text.WriteString("  ")
	if err := json.Indent(&text, body, "  ", "  "); err != nil {
		fmt.Fprintf(&text, "(%d bytes that are not JSON)", len(body))
	}
	text.WriteByte('\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = text.WriteTo(r.out) // a closed terminal is no reason to refuse deliveries
}
