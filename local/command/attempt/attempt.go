// Package attempt tries a manifest before it is added to the service: it fetches a few pages from the provider's server, or from a
// recording of it, and shows the requests and what the records become. It stores nothing but the recording.
package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"orgops/local/command/apiclient"
	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/mapping"
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
	a := attempt{out: out, client: outbound.New(outbound.Options{AllowLoopback: true}), credentials: credentials(getenv)}
	if *replay != "" {
		if a.recorded, err = load(*replay); err != nil {
			return err
		}
	}
	err = a.fetch(ctx, m, json.RawMessage(*config), *pages)
	if *record != "" {
		err = errors.Join(err, a.save(*record))
	}
	return err
}

// read reads and checks a manifest.
func read(file string) (*manifest.Manifest, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	problems, err := web.CheckBody(manifest.Schema(), raw)
	if err := errors.Join(err, explain(fault.Refuse(problems), file)); err != nil {
		return nil, err
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		return nil, explain(err, file)
	}
	for n, s := range m.Streams {
		if s.Mapping == nil {
			continue
		}
		if _, err := mapping.Parse(s.Mapping); err != nil {
			return nil, explain(err, fmt.Sprintf("%s, /streams/%d/mapping", file, n))
		}
	}
	return m, nil
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

// attempt fetches by a manifest, and keeps what went over the wire.
type attempt struct {
	out         io.Writer
	client      *outbound.Client // that obeys the rules about addresses
	credentials map[string]string
	recorded    []exchange // that take the place of the server
	exchanges   []exchange
}

// fetch fetches pages as a full sync does, and shows them.
func (a *attempt) fetch(ctx context.Context, m *manifest.Manifest, config json.RawMessage, pages int) error {
	client := outbound.New(outbound.Options{AllowLoopback: true, Transport: a})
	c := manifest.New(m.Kind, func() *manifest.Manifest { return m }, client, time.Now)
	problems, err := web.CheckBody(c.Schema(), config)
	if err == nil && len(problems) == 0 {
		problems = c.CheckConfig(config)
	}
	if err := errors.Join(err, explain(fault.Refuse(problems), "--config")); err != nil {
		return err
	}
	if missing := connector.Missing(c, config, stored(a.credentials)); len(missing) > 0 && a.recorded == nil {
		return fmt.Errorf("the credential %s is missing; see --help", missing[0])
	}
	f := connector.Fetch{Config: config, Credentials: a.credentials, Full: true, Mapper: new(mapping.Cache)}
	for range pages {
		page, err := connector.FetchPage(ctx, c, f)
		if err != nil {
			return explain(err, m.Kind)
		}
		if err := a.show(page); err != nil {
			return err
		}
		if f.Checkpoint = page.Checkpoint; f.Checkpoint == nil {
			fmt.Fprintln(a.out, "the list ends here")
			return nil
		}
	}
	fmt.Fprintf(a.out, "more follows; --pages fetches more than %d\n", pages)
	return nil
}

// stored lists the names of credentials.
func stored(credentials map[string]string) (names []string) {
	for name := range credentials {
		names = append(names, name)
	}
	return names
}

// show prints what a page brings, a line each.
func (a *attempt) show(page connector.FetchedPage) error {
	line := func(what string, draft any) error {
		text, err := json.Marshal(draft)
		fmt.Fprintf(a.out, "  %s %s\n", what, text)
		return err
	}
	var all error
	for _, m := range page.Memories {
		all = errors.Join(all, line("memory.upsert", m))
	}
	for _, g := range page.Goals {
		all = errors.Join(all, line("goal.update", g))
	}
	for _, n := range page.Notes {
		all = errors.Join(all, line("timeline.note", n))
	}
	for _, s := range page.Skipped {
		fmt.Fprintf(a.out, "  left out: %s: %s\n", s.Item, s.Reason)
	}
	for _, w := range page.Warnings {
		fmt.Fprintf(a.out, "  warning: %s\n", w)
	}
	return all
}

// RoundTrip implements http.RoundTripper. It sends a request under the rules about addresses, or answers from the recording, and shows
// and keeps it.
func (a *attempt) RoundTrip(r *http.Request) (*http.Response, error) {
	e, err := a.asked(r)
	if err != nil {
		return nil, err
	}
	if a.recorded != nil {
		if e, err = answerOf(a.recorded, e); err != nil {
			return nil, err
		}
	} else if err := e.send(a.client, r); err != nil {
		return nil, err
	}
	fmt.Fprintf(a.out, "%s %s %s\n  answers %d with %d bytes\n", e.Method, e.URL, e.Body, e.Status, len(e.Answer))
	a.exchanges = append(a.exchanges, a.hidden(e))
	return &http.Response{
		StatusCode: e.Status, Status: fmt.Sprint(e.Status), Header: e.Header.Clone(), Body: io.NopCloser(bytes.NewReader([]byte(e.Answer))),
		ContentLength: int64(len(e.Answer)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}
