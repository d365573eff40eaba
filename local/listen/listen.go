// Package listen implements a webhook receiver for trying the service out. It prints each delivery and whether its signature
// verifies, and refuses a delivery whose signature does not.
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

	"orgops/shared/webhook/standardwebhooks"
)

// Run receives webhooks until ctx ends.
func Run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("listen", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:4001", "host:port to listen on")
	secret := flags.String("secret", "", "signing secret (whsec_…) that deliveries must be signed with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &receiver{out: out, now: time.Now}
	if *secret != "" {
		if err := standardwebhooks.CheckSecret(*secret); err != nil {
			return fmt.Errorf("--secret: %w", err)
		}
		r.secrets = []string{*secret}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s; every POST is printed and verified, Ctrl-C stops it\n", l.Addr())
	return serve(ctx, l, r)
}

// receiver answers 204 to a delivery that verifies, and 401 to any other.
type receiver struct {
	secrets []string
	now     func() time.Time

	mu  sync.Mutex // serializes printing
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
		http.Error(w, "the body is larger than 1 MiB or incomplete", http.StatusBadRequest)
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
	if _, err := standardwebhooks.Verify(r.secrets, h, body, r.now()); err != nil {
		return http.StatusUnauthorized, "REFUSED: " + err.Error()
	}
	return http.StatusNoContent, "signature verified"
}

func (r *receiver) print(h http.Header, body []byte, status int, verdict string) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "\n%s  %s -> %d\n", r.now().Format(time.TimeOnly), verdict, status)
	for _, name := range []string{standardwebhooks.HeaderID, standardwebhooks.HeaderTimestamp, standardwebhooks.HeaderSignature} {
		fmt.Fprintf(&text, "  %s: %s\n", name, h.Get(name))
	}
	text.WriteString("  ")
	if err := json.Indent(&text, body, "  ", "  "); err != nil {
		fmt.Fprintf(&text, "(%d bytes, not JSON)", len(body))
	}
	text.WriteByte('\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = text.WriteTo(r.out) // a closed terminal must not make deliveries fail
}
