package blackbox_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/process"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

var spreadOver = flag.Int("webhooks", 0, "TestSpread: webhooks of one company; 10,000 take half an hour on the emulated AWS")

// spreadParts is in how many sub-partitions the items of TestSpread lie, and spreadSenders how many webhooks are sent at once.
const (
	spreadParts   = 8
	spreadSenders = 8
	spreadTime    = 2 * time.Hour // with which a busy machine manages 10,000
)

// outcome is what a target tells of a company after its webhooks. It holds nothing that differs between two runs.
type outcome struct {
	Memories  []string       // titles
	Delivered map[string]int // deliveries by state
	Records   map[string]int64
	Received  []string // ids of the memories of which the endpoint was told
}

// TestSpread sends many webhooks of one company, whose items lie in 8 sub-partitions, to the deployed stack. Its answers, and what the
// endpoint receives, are those of the local process, which has no sub-partitions.
func TestSpread(t *testing.T) {
	if *spreadOver == 0 {
		t.Skip("it takes long; make spread runs it")
	}
	w := newWorld(t)
	tell := func(name string, start func(*testing.T) *target, prepare func(*testing.T, *target, string)) (is outcome) {
		t.Run(name, func(t *testing.T) {
			tg := start(t)
			j := newJourney(t, "spread-"+name, tg, w, nil)
			prepare(t, tg, j.company)
			is = j.spread(*spreadOver)
		})
		return is
	}
	want := tell("local", startLocal, func(*testing.T, *target, string) {})
	var d *deployed
	got := tell("deployed", func(t *testing.T) *target {
		tg := startDeployed(t)
		d = tg.deployed
		return tg
	}, func(t *testing.T, _ *target, company string) { errtest.Must(t, d.spread(t.Context(), company)) })
	if len(want.Memories) != *spreadOver {
		t.Errorf("%d memories, want %d", len(want.Memories), *spreadOver)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the deployed stack answers otherwise (-local +deployed):\n%s", diff)
	}
}

// spread lays the new items of a company into sub-partitions from now on. The projector would announce that ten minutes ahead.
func (d *deployed) spread(ctx context.Context, company string) error {
	table, err := process.OpenTable(ctx, d.getenv, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	level := object{"parts": spreadParts, "from": time.Now().UTC()}
	return table.Commit(ctx, store.Spread().Entry("COMPANIES", "spread", 0, object{"levels": object{company: []object{level}}}))
}

// parts counts the sub-partitions of a company that hold items.
func (d *deployed) parts(t *testing.T, company string) (used int) {
	for n := range spreadParts {
		values := fmt.Sprintf(`{":p":{"S":"C#%s#%02d"}}`, company, n)
		count := d.aws(t, "dynamodb", "query", "--table-name", d.Outputs["TableName"], "--key-condition-expression", "pk = :p",
			"--expression-attribute-values", values, "--select", "COUNT", "--max-items", "1", "--query", "Count", "--output", "text")
		if count != "0" {
			used++
		}
	}
	return used
}

// spread sends n webhooks, each about a memory of its own, waits until their deliveries are in the context, and returns what is known.
func (j *journey) spread(n int) (is outcome) {
	t := j.t
	ctx, stop := context.WithTimeout(t.Context(), spreadTime)
	defer stop()
	j.login()
	r := j.receive("hook-"+j.name, newSecret())
	j.register("webhook", r, "memory.*")
	j.certify("webhook")
	begun := time.Now()
	j.sendAll(ctx, r.secret, n)
	t.Logf("%d webhooks were accepted in %v", n, time.Since(begun).Round(time.Second))
	var usage struct {
		Holdings struct {
			Waiting int
			Records []struct {
				Kind  string
				Items int64
			}
		}
	}
	wanted := map[string]int64{"memory": int64(n), "delivery": int64(n), "receipt": int64(n), "decision": int64(n)}
	for ctx.Err() == nil {
		j.relogin(j.peek(get(j.at("/operations/usage"))).json(&usage))
		is.Records = map[string]int64{}
		for _, kind := range usage.Holdings.Records {
			if _, counted := wanted[kind.Kind]; counted {
				is.Records[kind.Kind] = kind.Items
			}
		}
		if usage.Holdings.Waiting == 0 && cmp.Equal(is.Records, wanted) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(j.target.every):
		}
	}
	t.Logf("all was delivered and folded after %v", time.Since(begun).Round(time.Second))
	is.Memories = titles(j, "/memory", func(i listed) string { return i.Title })
	is.Delivered = map[string]int{}
	for _, state := range titles(j, "/integrations/webhook/deliveries", func(i listed) string { return i.State }) {
		is.Delivered[state]++
	}
	for _, d := range r.take(false) {
		is.Received = append(is.Received, decode[struct{ Data struct{ Title string } }](d.body).Data.Title)
	}
	slices.Sort(is.Received)
	if d := j.target.deployed; d != nil {
		if used := d.parts(t, j.company); used != spreadParts {
			t.Errorf("%d sub-partitions hold items, want %d", used, spreadParts)
		}
	}
	return is
}

// sendAll sends n webhooks, some at once, each until it is accepted.
func (j *journey) sendAll(ctx context.Context, secret string, n int) {
	var next atomic.Int64
	var sending sync.WaitGroup
	for range spreadSenders {
		sending.Go(func() {
			for i := int(next.Add(1)); i <= n && ctx.Err() == nil; i = int(next.Add(1)) {
				id, body := fmt.Sprintf("spread-%d", i), ticket(i, fmt.Sprintf("Ticket %05d", i))
				for ctx.Err() == nil {
					timestamp := fmt.Sprint(time.Now().Unix())
					sent := post("/inbound/"+j.company+"/webhook", body).with("webhook-id", id).with("webhook-timestamp", timestamp).
						with("webhook-signature", sign(secret, id, timestamp, body))
					a, err := send(ctx, j.client, j.target.url, sent)
					if err == nil && (a.status == http.StatusAccepted || a.status == http.StatusOK) {
						break
					}
				}
			}
		})
	}
	sending.Wait()
}

// listed is an item of a list.
type listed struct{ Title, State string }

// titles reads all pages of a list and returns a text of each item, sorted.
func titles(j *journey, path string, text func(listed) string) (all []string) {
	j.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Items      []listed
			NextCursor string
		}
		at := j.at(path) + "?limit=100"
		if cursor != "" {
			at += "&cursor=" + cursor
		}
		if a := j.peek(get(at)).json(&page); a.status != http.StatusOK {
			j.t.Fatalf("GET %s: %s", at, a)
		}
		for _, item := range page.Items {
			all = append(all, text(item))
		}
		if cursor = page.NextCursor; cursor == "" {
			slices.Sort(all)
			return all
		}
	}
}

// relogin gets a new token when the last one has ended.
func (j *journey) relogin(a answer) {
	j.t.Helper()
	if a.status == http.StatusUnauthorized {
		j.login()
	}
}
