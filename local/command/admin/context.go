package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"orgops/functions/projector"
	"orgops/local/process"
	"orgops/shared/domain/company"
	"orgops/shared/insight/rebuild"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
)

const (
	rebuiltAtOnce = 4      // companies
	toldEvery     = 10_000 // records of a company
)

// errNotRebuilt ends the command with an error; the lines before it give the reasons.
var errNotRebuilt = errors.New("some contexts were not rebuilt; see the errors above and repeat the command")

// rebuildContexts prints a line for each company.
func rebuildContexts(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	one := flags.String("company", "", "the id of the company whose context to rebuild")
	all := flags.Bool("all", false, "rebuild the context of every company")
	if err := parse(flags, args); err != nil {
		return err
	}
	if (*one == "") != *all {
		return errors.New("--company or --all: give one of them")
	}
	e.Out, e.Err = &locked{w: e.Out}, &locked{w: e.Err}
	return e.withProjector(ctx, func(ctx context.Context, st store.Store) error {
		if *all {
			return e.rebuild(ctx, st, ids(ctx, st))
		}
		if _, err := store.For(st, *one).Get(ctx, company.Key, nil); err != nil {
			return store.Fault(err, fmt.Sprintf("--company: there is no company %q", *one))
		}
		return e.rebuild(ctx, st, func(yield func(string, error) bool) { yield(*one, nil) })
	})
}

// withProjector calls do with a store whose changes a projector folds: the one of the service that runs or, if none serves
// the data folder, one of its own.
func (e Env) withProjector(ctx context.Context, do func(context.Context, store.Store) error) error {
	if e.Config.Backend == config.AWS {
		table, err := process.OpenTable(ctx, e.Getenv, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		return do(ctx, table)
	}
	backend, err := process.OpenEmbedded(ctx, e.Config.Data, true, time.Now)
	if errors.Is(err, process.ErrServed) {
		if backend, err = process.OpenEmbedded(ctx, e.Config.Data, false, time.Now); err != nil {
			return err
		}
		return errors.Join(do(ctx, backend.Store), backend.Close())
	}
	if err != nil {
		return err
	}
	return errors.Join(e.projecting(ctx, backend, do), backend.Close())
}

// projecting calls do while a projector folds the changes of a backend.
func (e Env) projecting(ctx context.Context, backend *process.Embedded, do func(context.Context, store.Store) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := projector.Projector{
		Store: backend.Store, Logger: slog.New(slog.NewTextHandler(e.Err, &slog.HandlerOptions{Level: slog.LevelWarn})), Now: time.Now,
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, backend.Feed()) }()
	err := do(ctx, backend.Store)
	stop()
	return errors.Join(err, <-ended)
}

// rebuild rebuilds companies' contexts, several at once.
func (e Env) rebuild(ctx context.Context, st store.Store, companies iter.Seq2[string, error]) error {
	var (
		working sync.WaitGroup
		failed  atomic.Bool
		slots   = make(chan struct{}, rebuiltAtOnce)
	)
	defer working.Wait()
	for id, err := range companies {
		if err != nil {
			return err
		}
		slots <- struct{}{}
		working.Go(func() {
			defer func() { <-slots }()
			if !e.rebuildOne(ctx, store.For(st, id)) {
				failed.Store(true)
			}
		})
	}
	working.Wait()
	if failed.Load() {
		return errNotRebuilt
	}
	return nil
}

// rebuildOne rebuilds a company's context and prints the outcome. ok is false if something is wrong.
func (e Env) rebuildOne(ctx context.Context, c store.Company) (ok bool) {
	told := 0
	done, err := rebuild.Company(ctx, c, time.Now, func(records int) {
		if records-told >= toldEvery {
			told = records
			e.tell("%s: %d records read", c.ID(), records)
		}
	})
	var line any = done
	if err != nil {
		line = map[string]string{"company": c.ID(), "error": err.Error()}
	}
	text, encodeErr := json.Marshal(line)
	_, writeErr := fmt.Fprintf(e.Out, "%s\n", text)
	return errors.Join(err, encodeErr, writeErr) == nil && done.Damaged == ""
}

// locked lets several goroutines write to a stream. A nil stream discards what they write.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return len(p), nil
	}
	return l.w.Write(p)
}
