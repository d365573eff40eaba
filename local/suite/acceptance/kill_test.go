package acceptance_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
)

const (
	kills      = 50
	publishers = 4
)

// TestProgram_Killed kills the program repeatedly while events flow: every delivery that was answered 2xx arrives.
func TestProgram_Killed(t *testing.T) {
	p := newProgram(t)
	tn := p.tenant("Killed", "founder@example.com")
	secret := newSecret(t)
	r := receive(t, secret)
	p.start()
	tn.login()
	tn.subscribe("webhook", r.url, secret, "memory.*")

	flow := &flow{tenant: tn, secret: secret, stop: make(chan struct{})}
	flow.begin()
	t.Cleanup(func() { flow.end() }) // if the test fails before its own call
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var restarted time.Time
	for range kills {
		<-time.After(20*time.Millisecond + time.Duration(random.Int64N(int64(300*time.Millisecond))))
		p.kill()
		restarted = time.Now()
		p.start()
	}
	accepted := flow.end()
	if len(accepted) < 2*kills {
		t.Fatalf("%d deliveries were accepted, want at least %d", len(accepted), 2*kills)
	}

	arrived := func() (missing int, last time.Time) {
		first := map[string]time.Time{}
		for _, d := range r.deliveries("memory.created") {
			var data struct{ ID string }
			errtest.Must(t, json.Unmarshal(d.Data, &data))
			if _, ok := first[data.ID]; !ok {
				first[data.ID] = d.at
			}
		}
		for _, id := range accepted {
			at, ok := first[id]
			if !ok {
				missing++
			} else if at.After(last) {
				last = at
			}
		}
		return missing, last
	}
	eventually(t, "every accepted delivery arrives", func() bool {
		missing, _ := arrived()
		return missing == 0
	})
	_, last := arrived()
	ids := map[string]int{}
	for _, d := range r.deliveries() {
		ids[d.header.Get("Webhook-Id")]++
	}
	t.Logf("%d kills, %d deliveries accepted, %d events arrived in %d requests (%d duplicates); the last one arrived %v after the last restart",
		kills, len(accepted), len(ids), len(r.deliveries()), len(r.deliveries())-len(ids), last.Sub(restarted).Round(time.Millisecond))
}

// flow posts signed deliveries until end is called, through kills and restarts.
type flow struct {
	tenant  *tenant
	secret  string
	stop    chan struct{}
	ending  sync.Once
	working sync.WaitGroup
	next    atomic.Int64

	mu       sync.Mutex
	accepted []string // ids of the memories of accepted deliveries
}

func (f *flow) begin() {
	for range publishers {
		f.working.Go(f.publish)
	}
}

func (f *flow) end() []string {
	f.ending.Do(func() { close(f.stop) })
	f.working.Wait()
	return f.accepted
}

func (f *flow) publish() {
	for {
		pause := time.Millisecond
		if !f.post(int(f.next.Add(1))) {
			pause = 20 * time.Millisecond // the program is down
		}
		select {
		case <-f.stop:
			return
		case <-time.After(pause):
		}
	}
}

// post reports whether the service answered. Without an answer the delivery may or may not have been committed.
func (f *flow) post(n int) bool {
	body := ticket(n)
	a, err := f.tenant.send("POST", "/inbound/"+f.tenant.ID+"/webhook", body, sign(f.tenant.t, f.secret, fmt.Sprintf("msg-%d", n), body))
	if err != nil {
		return false
	}
	memory, err := created(a)
	if err != nil {
		f.tenant.t.Errorf("delivery %d: %v: %s", n, err, a.body)
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.accepted = append(f.accepted, memory)
	return true
}

// created returns the id of the memory that an accepted delivery created.
func created(a *answer) (memory string, err error) {
	var r receipt
	if err := json.Unmarshal(a.body, &r); err != nil {
		return "", err
	}
	if a.status != http.StatusAccepted {
		return "", fmt.Errorf("status = %d, want 202", a.status)
	}
	if len(r.Results) != 1 {
		return "", fmt.Errorf("%d results, want 1", len(r.Results))
	}
	if outcome := r.Results[0].Outcome; outcome != "created" {
		return "", fmt.Errorf("outcome = %s, want created", outcome)
	}
	return r.Results[0].Subject, nil
}
