package soak_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/testkit/awstest"
)

var (
	allFlag   = flag.Bool("all", false, "every fault; otherwise the few that make test runs")
	faultFlag = flag.String("fault", "", "only these faults: a part, a kind, or both, such as \"table reset\"")
	forFlag   = flag.Duration("for", 2*time.Second, "how long each fault lasts")
	killsFlag = flag.Int("kills", 10, "how often the process is killed")
	seedFlag  = flag.Uint64("seed", 1, "seed of the pauses between kills")
)

var dynamo, sqs, moto = awstest.DynamoDB(), awstest.SQS(), awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, sqs, moto)) }

// TestSoak breaks one part after the other while webhooks, syncs and deliveries go on. Nothing may be lost, and nothing may
// count twice in the context or among the memories.
func TestSoak(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]struct {
		start  func(*testing.T) *world
		faults []fault
	}{
		"aws": {startAWS, onAWS()}, "sqlite": {startEmbedded, onSQLite()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := selected(form.faults)
			if len(faults) == 0 {
				t.Skipf("no fault here is called %q", *faultFlag)
			}
			w := form.start(t)
			results := &table{}
			t.Cleanup(func() { t.Logf("%d starts of the program\n%s", w.program.starts.Load(), results) })
			slices.SortStableFunc(faults, func(a, b fault) int { return order(a) - order(b) })
			for _, f := range faults {
				t.Run(f.part+" "+f.kind, func(t *testing.T) {
					if !f.alone {
						t.Parallel()
					}
					results.add(soak(t, w, f))
				})
			}
		})
	}
}

// order puts the faults that run alone before those that run together.
func order(f fault) int {
	if f.alone {
		return 0
	}
	return 1
}

// soak writes to a new company while a fault lasts, waits until everything has followed, and returns the row of the table.
func soak(t *testing.T, w *world, f fault) string {
	t.Helper()
	load := w.company(t, f.part+" "+f.kind)
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		f.run(w, load)
	}()
	load.write(stop)
	healed := time.Now()
	load.writing.Wait()
	row := fmt.Sprintf("| %s | %s | %d |", f.part, f.kind, load.written)
	for _, r := range load.settle(healed) {
		row += fmt.Sprintf(" %d / %d / %.1f |", r.lost, r.doubled, r.took.Seconds())
		if r.lost > 0 {
			t.Errorf("the %s has not done %d of its work %v after the fault (%s)", r.name, r.lost, patience, r.problem)
		}
		if r.once && r.doubled > 0 {
			t.Errorf("the %s did %d twice, want none", r.name, r.doubled)
		}
	}
	return row
}

// table collects the rows of the faults that have run.
type table struct {
	mu   sync.Mutex
	rows []string
}

func (t *table) add(row string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, row)
}

func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	const head = "| part | fault | webhooks | projector | dispatcher | retrier | syncer |\n|---|---|---|---|---|---|---|\n"
	return head + strings.Join(t.rows, "\n")
}
