// Package listen implements the command orgops listen. Without --forward-to it is a webhook receiver for trying the service
// out: it prints each delivery and whether its signature verifies, and refuses a delivery whose signature does not. With
// --forward-to it relays a company's events to an address of this machine.
package listen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"orgops/local/command/apiclient"
	"orgops/local/command/relay"
	"orgops/shared/domain/event"
	"orgops/shared/webhook/standardwebhooks"
)

// flags holds the command's flags.
type flags struct {
	set                   *flag.FlagSet
	addr, secret, forward *string
	events                *string
	interval              *time.Duration
	login                 *apiclient.LoginFlags
}

// minInterval bounds how often the service is asked for new deliveries.
const minInterval = 100 * time.Millisecond

// help returns what --help prints above the flags.
func help() string {
	return `orgops listen receives webhooks, or relays a company's events to an address of this machine.

usage:
  orgops listen [--addr HOST:PORT] [--secret WHSEC]
  orgops listen --forward-to URL --email EMAIL [--events EVENT,…]

example:
  orgops listen --forward-to http://127.0.0.1:3000/hooks --email founder@example.com --events 'memory.*,goal.updated'

events:
  ` + strings.Join(event.Patterns(), "\n  ") + "\n"
}

func parse(args []string, t apiclient.Terminal, out io.Writer) (flags, error) {
	set := flag.NewFlagSet("listen", flag.ContinueOnError)
	f := flags{
		set:      set,
		addr:     set.String("addr", "127.0.0.1:4001", "host:port to listen on, without --forward-to"),
		secret:   set.String("secret", "", "signing secret (whsec_…): deliveries must be signed with it, or with --forward-to are; --forward-to makes one otherwise"),
		forward:  set.String("forward-to", "", "url of this machine to which the company's events are posted, such as http://127.0.0.1:3000/hooks"),
		events:   set.String("events", "", "events to relay, comma separated, such as memory.*,goal.updated; default: the seven of the contract"),
		interval: set.Duration("interval", time.Second, "how often to ask for new events"),
		login:    apiclient.Flags(set, t),
	}
	if err := apiclient.Parse(set, args, help(), out); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("listen takes no argument %q; see --help", set.Arg(0))
	}
	if err := f.apply(); err != nil {
		return f, err
	}
	if *f.secret != "" {
		if err := standardwebhooks.CheckSecret(*f.secret); err != nil {
			return f, fmt.Errorf("--secret: %w", err)
		}
	}
	return f, nil
}

// apply refuses flags of one mode in the other one.
func (f flags) apply() (err error) {
	f.set.Visit(func(given *flag.Flag) {
		switch given.Name {
		case "events", "interval", "api", "email", "password-stdin":
			if *f.forward == "" {
				err = fmt.Errorf("--%s needs --forward-to, which says where the company's events go; without it, listen prints what is posted to --addr", given.Name)
			}
		case "addr":
			if *f.forward != "" {
				err = errors.New("--addr has no effect with --forward-to; leave out one of them")
			}
		}
	})
	return err
}

// Run receives or relays webhooks until ctx ends.
func Run(ctx context.Context, args []string, t apiclient.Terminal, out io.Writer) error {
	f, err := parse(args, t, out)
	switch {
	case err != nil:
		return err
	case *f.forward != "":
		return f.relay(ctx, out)
	}
	r := &receiver{out: out, now: time.Now}
	if *f.secret != "" {
		r.secrets = []string{*f.secret}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *f.addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s; every POST is printed and verified, Ctrl-C stops it\n", l.Addr())
	return serve(ctx, l, r)
}

// relay logs in and relays until ctx ends.
func (f flags) relay(ctx context.Context, out io.Writer) error {
	u, err := url.Parse(*f.forward)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--forward-to: %q is not a url such as http://127.0.0.1:3000/hooks", *f.forward)
	}
	if *f.interval < minInterval {
		return fmt.Errorf("--interval: at least %v", minInterval)
	}
	account, err := f.login.Account()
	if err != nil {
		return err
	}
	api, err := apiclient.Login(ctx, account)
	if err != nil {
		return err
	}
	var events []string
	if *f.events != "" {
		events = strings.Split(strings.ReplaceAll(*f.events, " ", ""), ",")
	}
	return relay.Run(ctx, api, relay.Options{Forward: *f.forward, Events: events, Secret: *f.secret, Interval: *f.interval, Out: out})
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
