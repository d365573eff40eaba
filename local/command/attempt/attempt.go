// Package attempt tries a manifest before it is added to the service: it fetches a few pages from the provider's server, or from a
// recording of it, and shows the requests and what the records become. It stores nothing but the recording.
package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"orgops/local/command/apiclient"
	"orgops/shared/base/fault"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/rehearsal"
	"orgops/shared/web"
	"orgops/shared/webhook/outbound"
)

const help = `orgops connector test fetches a few pages by a manifest, and shows the requests and what the records become.

usage:
  orgops connector test MANIFEST [flags]

The credentials come from ORGOPS_CONNECTOR_TOKEN, or from ORGOPS_CONNECTOR_USERNAME and ORGOPS_CONNECTOR_PASSWORD.

example:
  orgops connector test tickets.json --config '{"team": "support"}' --record tickets.jsonl
`

// maxPages limits the pages of one attempt.
const maxPages = 100

// Run tries the manifest that args name.
func Run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	set := flag.NewFlagSet("connector test", flag.ContinueOnError)
	config := set.String("config", "{}", "values of the manifest's variables, as JSON")
	pages := set.Int("pages", 3, fmt.Sprintf("pages to fetch, 1 to %d", maxPages))
	record := set.String("record", "", "file that keeps the requests and answers, without credentials")
	replay := set.String("replay", "", "file of --record whose answers take the place of the server's")
	if len(args) > 0 && args[0] == "test" {
		args = args[1:]
	}
	file := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		file, args = args[0], args[1:]
	}
	if err := apiclient.Parse(set, args, help, out); err != nil {
		return err
	}
	switch {
	case file == "" || set.NArg() > 0:
		return errors.New("connector test takes one file with a manifest, before the flags; see --help")
	case *pages < 1 || *pages > maxPages:
		return fmt.Errorf("--pages: from 1 to %d", maxPages)
	case *record != "" && *replay != "":
		return errors.New("give --record or --replay, not both")
	}
	m, err := read(file)
	if err != nil {
		return err
	}
	t := rehearsal.Trial{
		Manifest: m, Config: json.RawMessage(*config), Credentials: credentials(getenv), Pages: *pages,
		Client: outbound.New(outbound.Options{AllowLoopback: true}), Check: web.CheckBody, Now: time.Now,
	}
	if *replay != "" {
		if t.Recorded, err = load(*replay); err != nil {
			return err
		}
	}
	fetched, more, err := t.Run(ctx)
	show(out, fetched, more, err)
	err = explain(err, m.Kind)
	if *record != "" {
		err = errors.Join(err, save(*record, fetched))
	}
	return err
}

// read reads and checks a manifest.
func read(file string) (*manifest.Manifest, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m, err := rehearsal.Read(raw, web.CheckBody)
	return m, explain(err, file)
}

// explain returns an error that lists each problem with its place, or nil.
func explain(err error, where string) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	text := where + ": " + f.Detail
	for _, p := range f.Problems {
		text += "\n  " + p.Pointer + ": " + p.Detail
	}
	return errors.New(text)
}

// credentials reads the credentials from the environment.
func credentials(getenv func(string) string) map[string]string {
	all := map[string]string{}
	for name, variable := range map[string]string{
		manifest.TokenField: "ORGOPS_CONNECTOR_TOKEN", manifest.UserField: "ORGOPS_CONNECTOR_USERNAME", manifest.PasswordField: "ORGOPS_CONNECTOR_PASSWORD",
	} {
		if value := getenv(variable); value != "" {
			all[name] = value
		}
	}
	return all
}

// show prints the requests and what they brought, a line each.
func show(out io.Writer, pages []rehearsal.Page, more bool, failed error) {
	for _, page := range pages {
		for _, e := range page.Exchanges {
			fmt.Fprintf(out, "%s %s %s\n  answers %d with %d bytes\n", e.Method, e.URL, e.Body, e.Status, len(e.Answer))
		}
		for _, a := range page.Actions {
			fmt.Fprintf(out, "  %s %s\n", a.Port, a.Draft)
		}
		for _, s := range page.Skipped {
			fmt.Fprintf(out, "  left out: %s: %s\n", s.Item, s.Reason)
		}
		for _, w := range page.Warnings {
			fmt.Fprintf(out, "  warning: %s\n", w)
		}
	}
	switch {
	case more:
		fmt.Fprintf(out, "more follows; --pages fetches more than %d\n", len(pages))
	case failed == nil:
		fmt.Fprintln(out, "the list ends here")
	}
}
