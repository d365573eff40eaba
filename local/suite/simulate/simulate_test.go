package simulate_test

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	seedsFlag  = flag.Int("seeds", 40, "number of seeds")
	seedFlag   = flag.Uint64("seed", 1, "first seed")
	faultsFlag = flag.String("faults", "default", "kinds of fault: default, none, or names with commas")
	sameFlag   = flag.Int("same", 8, "number of seeds that are run twice")
	traceFlag  = flag.Int("trace", 60, "lines of a failure's trace")
)

// allowed returns the kinds of fault that the flag names.
func allowed() []fault {
	switch *faultsFlag {
	case "default":
		return kinds()
	case "none":
		return nil
	}
	var all []fault
	for _, name := range strings.Split(*faultsFlag, ",") {
		all = append(all, fault(name))
	}
	return all
}

// simulate runs a seed in its own virtual time and returns what happened.
func simulate(t *testing.T, seed uint64, faults []fault) (broken string, happened trace) {
	t.Helper()
	w := simulated(t, seed, faults)
	return w.broken, w.trace
}

func simulated(t *testing.T, seed uint64, faults []fault) (w *world) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed, faults)
		w.run()
	})
	return w
}

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // a seed keeps little, and a collection costs a tenth of its time
	os.Exit(m.Run())
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	splits, most := 0, 0
	t.Cleanup(func() { t.Logf("%d splits of shards in %d seeds, at most %d in one", splits, *seedsFlag, most) })
	for n := range *seedsFlag {
		seed := *seedFlag + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := simulated(t, seed, allowed())
			if w.broken != "" {
				t.Errorf("seed %d violates %s\nIt happened at the end of this trace. Repeat it with make simulate SEEDS=1 SEED=%d\n%s", seed, w.broken, seed, w.trace.tail(*traceFlag))
			}
			mu.Lock()
			defer mu.Unlock()
			splits, most = splits+w.splits, max(most, w.splits)
		})
	}
}

// TestSimulate_Same runs some seeds twice and compares all that happened.
func TestSimulate_Same(t *testing.T) {
	t.Parallel()
	for seed := *seedFlag; seed < *seedFlag+uint64(*sameFlag); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			_, once := simulate(t, seed, allowed())
			_, twice := simulate(t, seed, allowed())
			sameTrace(t, once, twice)
		})
	}
}

// sameTrace compares the traces of two runs.
func sameTrace(t *testing.T, once, twice trace) {
	t.Helper()
	a, b := once.text(len(once.lines)), twice.text(len(twice.lines))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d of the trace: %q, the second time %q, after\n%s", i, a[i], b[i], strings.Join(a[max(0, i-10):i], "\n"))
		}
	}
	if len(a) != len(b) {
		t.Errorf("the trace has %d lines, the second time %d", len(a), len(b))
	}
}

// TestSimulate_Faults checks that the seeds have faults of every kind: each leaves its word in a trace.
func TestSimulate_Faults(t *testing.T) {
	t.Parallel()
	words := map[fault]string{
		throttled: " throttle ", unknown: " lose the outcome of ", slow: " slow ", killed: " kill ", twice: " once more", split: " split ",
		many: " dispatcher/2#", clocks: " has a clock that is ", failing: ": 503 after ", gone: ": 410 after ", late: " late ", dead: "dead",
		shuffled: "shuffled", outage: "outage ", hot: "hot", lost: " loses ", keyless: " no key for ", expiring: "TTL deletes ",
	}
	var all strings.Builder
	for seed := range uint64(12) {
		_, trace := simulate(t, seed, kinds())
		all.WriteString(trace.tail(len(trace.lines)))
	}
	for _, f := range kinds() {
		if !strings.Contains(all.String(), words[f]) {
			t.Errorf("no trace has %q, which a fault of kind %s leaves", words[f], f)
		}
	}
}
