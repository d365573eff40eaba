package sqlitestore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
)

var body = json.RawMessage(`{"text":"` + strings.Repeat("x", 480) + `"}`)

func benchStore(b *testing.B, consumers ...string) *sqlitestore.Store {
	return openStore(b, openFile(b, filepath.Join(b.TempDir(), "x.db")), sqlitestore.Options{Consumers: consumers})
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCommit commits four items of 500 bytes at a time, each writer for its own company: three creations and a
// replacement, or four replacements. Two consumers keep up.
func BenchmarkCommit(b *testing.B) {
	create := func(c store.Company, n int64) []store.Op {
		at := id.New()
		return []store.Op{
			c.Create("MEMORY#"+at, "memory", body), c.Create("TIMELINE#"+at, "timeline", body).Until(time.Now().Add(time.Hour)),
			c.Save("CONTEXT", "context", n, body), c.Create("RECEIPT#"+at, "receipt", body).Quietly(),
		}
	}
	replace := func(c store.Company, n int64) []store.Op {
		return []store.Op{
			c.Save("A", "memory", n, body), c.Save("B", "memory", n, body), c.Save("C", "memory", n, body), c.Save("D", "memory", n, body),
		}
	}
	for _, writers := range []int{1, 2, 32} {
		b.Run(fmt.Sprintf("create/writers=%d", writers), func(b *testing.B) { benchCommit(b, writers, create) })
		b.Run(fmt.Sprintf("replace/writers=%d", writers), func(b *testing.B) { benchCommit(b, writers, replace) })
	}
}

func benchCommit(b *testing.B, writers int, ops func(store.Company, int64) []store.Op) {
	s := benchStore(b, "alpha", "beta")
	for _, name := range []string{"alpha", "beta"} {
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error)
		go func() {
			ended <- s.Consume(ctx, name, func(_ context.Context, _ store.Batch, done func(error)) { done(nil) })
		}()
		b.Cleanup(func() { cancel(); <-ended })
	}
	work := func(next func() bool) {
		c := store.For(s, id.New())
		for n := int64(0); next(); n++ {
			if err := c.Commit(b.Context(), ops(c, n)...); err != nil {
				b.Error(err)
			}
		}
	}
	start := cpu()
	b.ResetTimer()
	if writers == 1 {
		work(b.Loop)
	} else {
		b.SetParallelism(writers / 2)
		b.RunParallel(func(pb *testing.PB) { work(pb.Next) })
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(float64((cpu()-start).Microseconds())/float64(b.N), "cpu-µs/op")
}

func BenchmarkGet(b *testing.B) {
	s := benchStore(b)
	c := store.For(s, id.New())
	keys := make([]string, 10000)
	for i := range keys {
		keys[i] = fmt.Sprintf("MEMORY#%s", id.New())
	}
	for i := 0; i < len(keys); i += 100 {
		var ops []store.Op
		for _, key := range keys[i : i+100] {
			ops = append(ops, c.Create(key, "memory", body))
		}
		if err := c.Commit(b.Context(), ops...); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			if _, err := c.Get(b.Context(), keys[i*7919%len(keys)], nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if _, err := c.Get(b.Context(), keys[i*7919%len(keys)], nil); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("query of 50", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Query(b.Context(), store.Query{Prefix: "MEMORY#", Limit: 50, Desc: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFeed measures the time from the call of Commit until an up-to-date consumer has the change.
func BenchmarkFeed(b *testing.B) {
	s := benchStore(b, "alpha")
	c := store.For(s, id.New())
	ctx, cancel := context.WithCancel(b.Context())
	arrived, ended := make(chan struct{}, 1), make(chan error)
	go func() {
		ended <- s.Consume(ctx, "alpha", func(_ context.Context, _ store.Batch, done func(error)) { done(nil); arrived <- struct{}{} })
	}()
	for b.Loop() {
		if err := c.Commit(b.Context(), c.Create(id.New(), "note", body)); err != nil {
			b.Fatal(err)
		}
		<-arrived
	}
	cancel()
	<-ended
}
