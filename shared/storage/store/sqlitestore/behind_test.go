package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/errtest"
)

// TestStore_BehindAny lets several companies have much in flight while they commit, finishes and fails batches in any order, and ends
// the consumer now and then. It expects every change to be finished, and those of a company to come in order.
func TestStore_BehindAny(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := openStore(t, openFile(t, filepath.Join(t.TempDir(), "x.db")), sqlitestore.Options{Consumers: []string{"alpha"}, Unfinished: 40})
			m := &model{
				random: rand.New(rand.NewPCG(seed, 0)), arrived: make(chan struct{}, 1), handed: map[string]int{}, finished: map[string]bool{},
			}
			companies := []string{id.New(), id.New(), id.New(), id.New()}
			committed := map[string]int{}
			for range 6 {
				end := m.start(t, s)
				for range 200 {
					company := companies[min(m.random.IntN(12), 3)] // the last one is the busiest
					commit(t, s, store.For(s, company).Create(fmt.Sprintf("N#%d", committed[company]), "note", body))
					committed[company]++
					m.finishOne()
				}
				if m.random.IntN(2) == 0 {
					m.finishAll(t, total(committed))
				}
				end()
			}
			end := m.start(t, s)
			m.finishAll(t, total(committed))
			end()
			for company, n := range committed {
				if got := m.handed[company]; got != n {
					t.Errorf("company %s: %d changes handed over, want %d", company, got, n)
				}
			}
		})
	}
}

// model holds the batches in flight of one consumer after another.
type model struct {
	arrived chan struct{}
	random  *rand.Rand // owned by the test's goroutine

	mu       sync.Mutex
	open     []handed
	handed   map[string]int  // changes, by company
	finished map[string]bool // changes
	wrong    []string
}

type handed struct {
	changes []store.Change
	done    func(error)
}

func (m *model) start(t *testing.T, s *sqlitestore.Store) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Consume(ctx, "alpha", m.handle) }()
	return func() {
		t.Helper()
		cancel()
		for {
			select {
			case err := <-ended:
				errtest.Must(t, err)
				for _, wrong := range m.wrong {
					t.Error(wrong)
				}
				return
			case <-m.arrived:
			default:
				m.end(1) // a batch in flight is given back
			}
		}
	}
}

func (m *model) handle(_ context.Context, b store.Batch, done func(error)) {
	m.mu.Lock()
	for _, c := range b.Changes {
		n, _ := strconv.Atoi(strings.TrimPrefix(c.Key, "N#"))
		switch next := m.handed[c.Company]; {
		case n > next:
			m.wrong = append(m.wrong, fmt.Sprintf("company %s: change %d comes before change %d", c.Company, n, next))
		case n == next:
			m.handed[c.Company]++
		case !b.Replay:
			m.wrong = append(m.wrong, fmt.Sprintf("company %s: change %d comes again without being marked as a replay", c.Company, n))
		}
	}
	m.open = append(m.open, handed{b.Changes, done})
	m.mu.Unlock()
	select {
	case m.arrived <- struct{}{}:
	default:
	}
}

// finishOne ends any batch in flight, mostly none: so companies fall behind.
func (m *model) finishOne() {
	if m.random.IntN(3) == 0 {
		m.end(50)
	}
}

// finishAll ends batches until so many changes are finished.
func (m *model) finishAll(t *testing.T, n int) {
	t.Helper()
	patience := time.After(20 * time.Second)
	for {
		m.mu.Lock()
		missing, idle := n-len(m.finished), len(m.open) == 0
		m.mu.Unlock()
		if missing <= 0 {
			return
		}
		if !idle {
			m.end(50)
			continue
		}
		select {
		case <-m.arrived:
		case <-patience:
			t.Fatalf("%d changes are missing", missing)
		}
	}
}

// end ends a batch in flight, the given part of them with an error.
func (m *model) end(failing int) {
	m.mu.Lock()
	if len(m.open) == 0 {
		m.mu.Unlock()
		return
	}
	i := m.random.IntN(len(m.open))
	b := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	fails := m.random.IntN(failing) == 0
	if !fails {
		for _, c := range b.changes {
			m.finished[c.Company+c.Key] = true
		}
	}
	m.mu.Unlock()
	if fails {
		b.done(errors.New("not now"))
		return
	}
	b.done(nil)
}

func total(by map[string]int) (n int) {
	for _, one := range by {
		n += one
	}
	return n
}
