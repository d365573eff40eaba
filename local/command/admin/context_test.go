package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/functions/projector"
	"orgops/local/command/admin"
	"orgops/local/process"
	"orgops/shared/domain/company"
	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// open opens the embedded backend in a folder and closes it when do returns.
func open(t *testing.T, folder string, serving bool, do func(*process.Embedded)) {
	t.Helper()
	e, err := process.OpenEmbedded(t.Context(), folder, serving, time.Now)
	errtest.Must(t, err)
	do(e)
	errtest.Must(t, e.Close())
}

// TestContext_Rebuild rebuilds wrong contexts: first with no process that serves the folder, then while one does and its
// clients write.
func TestContext_Rebuild(t *testing.T) {
	t.Parallel()
	const memories = 5
	folder := t.TempDir()
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		env := admin.Env{Config: config.Config{Data: folder}, Getenv: func(string) string { return "" }, Out: &out}
		err := admin.Run(t.Context(), env, args)
		return out.String(), err
	}
	var made [2]company.Provisioned
	for n := range made {
		out, err := run("company", "create", "--name", "Acme", "--email", fmt.Sprint(n, "@example.com"))
		errtest.Must(t, err)
		errtest.Must(t, json.Unmarshal([]byte(out), &made[n]))
	}
	remember := func(c store.Company, from, to int) {
		for n := from; n < to; n++ {
			m := memory.Memory{ID: fmt.Sprint(n), Provider: "feed"}
			errtest.Must(t, c.Commit(t.Context(), c.Create(memory.Key(m.ID), memory.Entity, m)))
		}
	}
	spoil := func(c store.Company) {
		p, version, err := projection.Load(t.Context(), c)
		errtest.Must(t, err)
		p.Memory.Total, p.Company.Name = 77, "Wrong"
		errtest.Must(t, c.Commit(t.Context(), projection.Save(c, version, p)))
	}
	wantKnown := func(c store.Company, total int64) {
		t.Helper()
		p, _, err := projection.Load(t.Context(), c)
		errtest.Must(t, err)
		if p.Memory.Total != total {
			t.Errorf("%d memories, want %d", p.Memory.Total, total)
		}
		if p.Company.Name != "Acme" {
			t.Errorf("name = %s, want Acme", p.Company.Name)
		}
	}
	open(t, folder, false, func(e *process.Embedded) {
		for _, m := range made {
			remember(store.For(e.Store, m.CompanyID), 0, memories)
			spoil(store.For(e.Store, m.CompanyID))
		}
	})
	out, err := run("context", "rebuild", "--all")
	errtest.Must(t, err)
	if got := strings.Count(out, `"contextVersion"`); got != len(made) {
		t.Errorf("%d contexts rebuilt, want %d: %s", got, len(made), out)
	}
	open(t, folder, true, func(e *process.Embedded) {
		for _, m := range made {
			wantKnown(store.For(e.Store, m.CompanyID), memories)
		}
		ctx, stop := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		p := projector.Projector{Store: e.Store, Logger: slog.New(slog.DiscardHandler), Linger: time.Millisecond, Now: time.Now}
		serving.Go(func() {
			if err := p.Run(ctx, e.Feed()); err != nil {
				t.Error(err)
			}
		})
		c, other := store.For(e.Store, made[0].CompanyID), store.For(e.Store, made[1].CompanyID)
		spoil(c)
		spoil(other)
		var writing sync.WaitGroup
		writing.Go(func() { remember(c, memories, 40*memories) })
		out, err := run("context", "rebuild", "--company", c.ID())
		errtest.Must(t, err)
		if strings.Contains(out, other.ID()) {
			t.Errorf("output = %s, want company %s only", out, c.ID())
		}
		writing.Wait()
		for p, _, err := projection.Load(t.Context(), c); p.Memory.Total < 40*memories && err == nil; {
			p, _, err = projection.Load(t.Context(), c)
		}
		wantKnown(c, 40*memories)
		stop()
		serving.Wait()
	})
	for _, wrong := range []struct {
		args  []string
		holds string
	}{
		{nil, "--company or --all"}, {[]string{"--all", "--company", "acme"}, "--company or --all"}, {[]string{"--company", "acme"}, "no company"},
	} {
		_, err := run(append([]string{"context", "rebuild"}, wrong.args...)...)
		if got := errtest.Message(err); !strings.Contains(got, wrong.holds) {
			t.Errorf("%q: error %q, want one with %q", wrong.args, got, wrong.holds)
		}
	}
}
