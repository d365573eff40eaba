package soak_test

import "time"

// consumer is one consumer of the change feed or of a queue.
type consumer struct {
	name string
	once bool // nothing that it does may happen twice
	// count returns how much of its work for these memories is not done yet, and how much was done again.
	count func(memories map[string][]string) (lost, doubled int, err error)
}

// result says what a consumer lost and did twice, and how long after the fault it had done everything.
type result struct {
	consumer
	lost, doubled int
	took          time.Duration
	problem       string
}

// consumers lists who has to do what for the company. One endpoint refuses each third event at first, so that the retrier
// has to deliver it.
func (l *workload) consumers() []result {
	return []result{
		{consumer: consumer{"projector", true, l.projected}}, {consumer: consumer{"dispatcher", false, l.first.missed}},
		{consumer: consumer{"retrier", false, l.later.missed}}, {consumer: consumer{"syncer", true, l.synced}},
	}
}

// projected compares the memories with their number in the company's context.
func (l *workload) projected(memories map[string][]string) (lost, doubled int, err error) {
	var context struct{ Memory struct{ Total int } }
	err = l.send("GET", l.at("/intelligence/context"), nil, nil, &context)
	missing := len(memories["webhook"]) + len(memories["feed"]) - context.Memory.Total
	return max(missing, 0), max(-missing, 0), err
}

// synced compares the memories with the source.
func (l *workload) synced(memories map[string][]string) (lost, doubled int, err error) {
	missing := entries - len(memories["feed"])
	return max(missing, 0), max(-missing, 0), nil
}

// settle waits until every consumer has done its work, or for patience.
func (l *workload) settle(healed time.Time) []result {
	results := l.consumers()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for range again.C {
		if l.look(results, healed) || time.Since(healed) > patience {
			return results
		}
	}
	return nil
}

// look updates the results, and reports whether nothing is left to do.
func (l *workload) look(results []result, healed time.Time) (done bool) {
	memories, err := l.memories()
	done = err == nil && len(memories["webhook"]) == l.written
	for i := range results {
		r := &results[i]
		before := r.lost == 0 && r.took > 0
		if err == nil {
			r.lost, r.doubled, err = r.count(memories)
		}
		if err != nil {
			r.problem, done = err.Error(), false
			continue
		}
		if r.lost > 0 {
			done = false
		} else if !before {
			r.took = time.Since(healed)
		}
	}
	return done
}
