// Package trigger causes real events of a company, for a developer who writes a receiver. It needs the public API alone: it
// sends signed webhooks to an integration of its own, or requests a sync.
package trigger

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"orgops/local/command/apiclient"
	"orgops/shared/base/id"
)

// Run causes the event that args name. Without arguments it lists the events.
func Run(ctx context.Context, args []string, t apiclient.Terminal, out io.Writer) error {
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	set := flag.NewFlagSet("trigger", flag.ContinueOnError)
	provider := set.String("provider", "", "source to sync, for memory.synced and integration.sync.completed; default: the first that is certified")
	login := apiclient.Flags(set, t)
	if err := apiclient.Parse(set, args, help(), out); err != nil {
		return err
	}
	if name == "" && set.NArg() == 0 {
		fmt.Fprint(out, help())
		return nil
	}
	c, err := find(name, set.Args())
	if err != nil {
		return err
	}
	account, err := login.Account()
	if err != nil {
		return err
	}
	api, err := apiclient.Login(ctx, account)
	if err != nil {
		return err
	}
	if c.bodies == nil {
		return sync(ctx, api, *provider, out)
	}
	return deliver(ctx, api, c.bodies(id.New()), out)
}

// help returns the syntax, an example and the events.
func help() string {
	var b strings.Builder
	b.WriteString(`orgops trigger causes an event, by what it really does to the company's data.

usage:
  orgops trigger                               list the events
  orgops trigger EVENT --email EMAIL [flags]

example:
  orgops trigger memory.updated --email founder@example.com

events:
`)
	for _, c := range causes() {
		fmt.Fprintf(&b, "  %-28s %s\n", c.event, c.does)
	}
	return b.String()
}

// find returns the cause of the event that the arguments name: name, or the only one behind the flags.
func find(name string, rest []string) (cause, error) {
	if name == "" && len(rest) == 1 {
		name, rest = rest[0], nil
	}
	if len(rest) > 0 {
		return cause{}, fmt.Errorf("trigger takes one event, and no argument %q; see --help", rest[0])
	}
	all := causes()
	n := slices.IndexFunc(all, func(c cause) bool { return c.event == name })
	if n < 0 {
		names := make([]string, len(all))
		for n, c := range all {
			names[n] = c.event
		}
		return cause{}, fmt.Errorf("there is no event %q; the events are %s", name, strings.Join(names, ", "))
	}
	return all[n], nil
}

// deliver sends webhooks, each one after the one before has taken effect.
func deliver(ctx context.Context, api *apiclient.Client, bodies []body, out io.Writer) error {
	sender, err := newSender(ctx, api)
	if err != nil {
		return err
	}
	for _, b := range bodies {
		r, err := sender.send(ctx, b)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s %s\n", r.Action, r.Outcome, about(r, b))
	}
	return nil
}

// about says what an action was about. The service gives no id of a note.
func about(r result, b body) string {
	if b.Type == "timeline.note" {
		return fmt.Sprintf("a note with the subject %s", b.Data["subject"])
	}
	return r.Subject
}

// sync requests a sync and waits for its end, which causes the events.
func sync(ctx context.Context, api *apiclient.Client, provider string, out io.Writer) error {
	if provider == "" {
		var err error
		if provider, err = source(ctx, api); err != nil {
			return err
		}
	}
	var r run
	if err := api.Do(ctx, http.MethodPost, "/memory/sync/"+provider, map[string]string{"mode": "incremental"}, &r); err != nil {
		return err
	}
	if r.Mode != "live" {
		return fmt.Errorf("%s is in the sandbox, where a sync causes no event; certify it first", provider)
	}
	if err := r.await(ctx, api); err != nil {
		return err
	}
	fmt.Fprintf(out, "sync of %s: %s %s\n", provider, r.State, r.ID)
	if r.State != "succeeded" {
		return fmt.Errorf("the sync %s: %s; it causes integration.sync.completed, but not memory.synced", r.State, r.Error)
	}
	return nil
}
