package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/command/admin"
	"orgops/local/process"
	"orgops/shared/domain/company"
	"orgops/shared/domain/parked"
	"orgops/shared/run/config"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// folder is a data folder with a function that runs commands on it.
type folder struct {
	path string
	run  func(args ...string) (out string, err error)
}

func newFolder(t *testing.T) folder {
	t.Helper()
	f := folder{path: t.TempDir()}
	f.run = func(args ...string) (string, error) {
		var out strings.Builder
		e := admin.Env{Config: config.Config{Data: f.path}, Getenv: func(string) string { return "" }, Out: &out}
		err := admin.Run(t.Context(), e, args)
		return out.String(), err
	}
	return f
}

// with opens the folder, calls do and closes it.
func (f folder) with(t *testing.T, serving bool, do func(*process.Embedded)) {
	t.Helper()
	e, err := process.OpenEmbedded(t.Context(), f.path, serving, time.Now)
	errtest.Must(t, err)
	do(e)
	errtest.Must(t, e.Close())
}

// lines decodes JSON lines.
func lines[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var one T
		errtest.Must(t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}

type parkedLine struct {
	Company, Consumer, Key, Reason, Error string
	Retries                               int
}

// TestParked lists the parked changes of all companies. A retry writes those of the dispatcher so that the feed has them; it
// refuses those of the projector and those that still give no change.
func TestParked(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	record := func(version string) parked.Record {
		return parked.NewRecord("3", at, nil, map[string]string{
			"pk": "C#acme", "sk": "MEMORY#" + version, "entity": "memory", "version": version, "at": "1777636800000", "body": `{"a":1}`,
		})
	}
	change := func(key string) store.Change {
		return store.Change{Sequence: "1", Company: "acme", Key: key, Entity: "memory", At: at, New: &store.Image{Version: 1, Body: []byte(`{}`)}}
	}
	odd := errors.New("odd")
	f.with(t, false, func(e *process.Embedded) {
		for _, id := range []string{"acme", "other"} {
			errtest.Must(t, e.Store.Commit(t.Context(), store.RegistryOf(id).Entry(id, company.RegistryEntity, 0, company.Entry{ID: id})))
		}
		lot := parked.Lot{Store: e.Store, Consumer: "dispatcher", Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return at }}
		errtest.Must(t, lot.Park(t.Context(), change("MEMORY#a"), odd))
		errtest.Must(t, lot.ParkRecord(t.Context(), change("MEMORY#7"), record("7"), odd)) // of a release that wrote another form
		errtest.Must(t, lot.ParkRecord(t.Context(), change("MEMORY#x"), record("x"), odd))
		lot.Consumer = "projector"
		errtest.Must(t, lot.Park(t.Context(), change("MEMORY#b"), odd))
		c := change("MEMORY#c")
		c.Company = "other"
		errtest.Must(t, lot.Park(t.Context(), c, odd))
	})
	read := func(want string, args ...string) map[string]parkedLine {
		t.Helper()
		out, err := f.run(args...)
		if got := errtest.Message(err); got != want {
			t.Errorf("%q: error %q, want %q", args, got, want)
		}
		byKey := map[string]parkedLine{}
		for _, line := range lines[parkedLine](t, out) {
			byKey[line.Key] = line
		}
		return byKey
	}
	all := map[string]parkedLine{}
	for key, consumer := range map[string]string{"MEMORY#a": "dispatcher", "MEMORY#7": "dispatcher", "MEMORY#x": "dispatcher", "MEMORY#b": "projector"} {
		all[key] = parkedLine{Company: "acme", Consumer: consumer, Key: key, Reason: "odd"}
	}
	if diff := cmp.Diff(all, read("", "parked", "list", "--company", "acme")); diff != "" {
		t.Errorf("parked changes of acme differ (-want +got):\n%s", diff)
	}
	if got := read("", "parked", "list"); got["MEMORY#c"].Company != "other" {
		t.Errorf("parked changes %+v, want one of the company other", got)
	}
	got := read("some parked changes were not given back; see the errors above", "parked", "retry", "--company", "acme")
	for key, holds := range map[string]string{"MEMORY#a": "", "MEMORY#7": "", "MEMORY#x": "version of MEMORY#x", "MEMORY#b": "context rebuild --company acme"} {
		if !strings.Contains(got[key].Error, holds) {
			t.Errorf("%s: error %q, want one with %q", key, got[key].Error, holds)
		}
		if again := got[key].Retries == 1; again != (holds == "") {
			t.Errorf("%s was given back = %t, want %t", key, again, holds == "")
		}
	}
	f.with(t, true, func(e *process.Embedded) {
		page, err := store.For(e.Store, "acme").Query(t.Context(), store.Query{Prefix: parked.Prefix})
		errtest.Must(t, err)
		given := map[string]string{}
		for _, item := range page.Items {
			p, err := parked.Decode(item.Body)
			errtest.Must(t, err)
			if p.Retries == 0 {
				continue
			}
			original, err := p.Original("acme")
			errtest.Must(t, err)
			given[p.Key] = string(original.New.Body)
		}
		if diff := cmp.Diff(map[string]string{"MEMORY#a": `{}`, "MEMORY#7": `{"a":1}`}, given); diff != "" {
			t.Errorf("changes that were given back differ (-want +got):\n%s", diff)
		}
	})
}

// TestParked_Timer sets a parked timer again.
func TestParked_Timer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	now := time.Now()
	f.with(t, false, func(e *process.Embedded) {
		errtest.Must(t, e.Store.Commit(t.Context(), store.RegistryOf("acme").Entry("acme", company.RegistryEntity, 0, company.Entry{ID: "acme"})))
		timer := store.For(e.Store, "acme").TimerWith(now.Add(-time.Hour), "kind", "subject", json.RawMessage(`{"a":1}`))
		change := store.Change{Company: "acme", Key: timer.Key, Entity: timer.Entity, At: now, New: &store.Image{Version: 1, Body: timer.Body}}
		lot := parked.Lot{Store: e.Store, Consumer: "ticker", Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
		errtest.Must(t, lot.Park(t.Context(), change, parked.ErrLost))
	})
	_, err := f.run("parked", "retry")
	errtest.Must(t, err)
	f.with(t, false, func(e *process.Embedded) {
		acme := store.For(e.Store, "acme")
		page, err := acme.Query(t.Context(), store.Query{Prefix: parked.Prefix})
		errtest.Must(t, err)
		if n := len(page.Items); n != 0 {
			t.Errorf("%d parked changes after the retry, want 0", n)
		}
		var timers []store.Item
		for shard := range store.DueShards {
			page, err = e.Store.Query(t.Context(), store.Due(shard), store.Query{})
			errtest.Must(t, err)
			timers = append(timers, page.Items...)
		}
		if len(timers) != 1 {
			t.Fatalf("%d timers, want 1", len(timers))
		}
		var timer store.Timer
		errtest.Must(t, timers[0].Decode(&timer))
		if got, want := timer.Kind+" "+timer.Subject+" "+string(timer.Data), `kind subject {"a":1}`; got != want {
			t.Errorf("timer %s, want %s", got, want)
		}
	})
}

// TestQueue lists and redrives dead letters.
func TestQueue(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.with(t, false, func(e *process.Embedded) {
		errtest.Must(t, e.Retries.Send(t.Context(), queue.Message{Body: []byte("poison"), Group: "acme"}))
		got, err := e.Retries.Receive(t.Context(), 1, time.Minute)
		errtest.Must(t, err)
		errtest.Must(t, e.Retries.Bury(t.Context(), got[0], "no reader"))
	})
	out, err := f.run("queue", "dead-letters", "--queue", "retries")
	errtest.Must(t, err)
	type letter struct{ Company, Body, Reason string }
	if diff := cmp.Diff([]letter{{"acme", "poison", "no reader"}}, lines[letter](t, out)); diff != "" {
		t.Errorf("dead letters differ (-want +got):\n%s", diff)
	}
	for queue, want := range map[string]string{"syncs": `{"redriven":0}`, "retries": `{"redriven":1}`} {
		out, err := f.run("queue", "redrive", "--queue", queue)
		errtest.Must(t, err)
		if got := strings.TrimSpace(out); got != want {
			t.Errorf("redrive of %s: output %s, want %s", queue, got, want)
		}
	}
	f.with(t, false, func(e *process.Embedded) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := e.Retries.Receive(ctx, 1, time.Minute)
		errtest.Must(t, err)
		if len(got) != 1 {
			t.Errorf("%d messages after the redrive, want 1", len(got))
		}
	})
	if _, err := f.run("queue", "redrive", "--queue", "others"); err == nil {
		t.Error("redrive of an unknown queue: no error")
	}
}
