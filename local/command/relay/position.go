package relay

import "time"

// Deliveries are listed by the times of their events. A delivery appears a little after its event, so an older one may
// appear after a newer one. Each poll looks overlap behind the newest one; now and then a poll looks further back.
const (
	overlap   = 10 * time.Second
	farBack   = 15 * time.Minute
	deepEvery = 30 * time.Second
)

// position says what was relayed. The times of events are the service's, so the clocks need not agree.
type position struct {
	start  time.Time            // of the session, as the service tells it
	newest time.Time            // time of the newest relayed event
	deep   time.Time            // when a poll last looked far back, as this machine tells it
	seen   map[string]time.Time // times of relayed events, by id
}

func startAt(start, now time.Time) position {
	return position{start: start, newest: start, deep: now, seen: map[string]time.Time{}}
}

// since returns the time from which a poll at now looks.
func (p *position) since(now time.Time) (since time.Time, deep bool) {
	since, deep = p.newest.Add(-overlap), now.Sub(p.deep) >= deepEvery
	if deep {
		since = p.newest.Add(-farBack)
	}
	if since.Before(p.start) {
		since = p.start
	}
	return since, deep
}

func (p *position) relayed(id string) bool {
	_, known := p.seen[id]
	return known
}

func (p *position) add(d held) {
	p.seen[d.ID] = d.At
	if d.At.After(p.newest) {
		p.newest = d.At
	}
}

// looked notes a complete poll that looked far back, and forgets what no later poll lists.
func (p *position) looked(at time.Time) {
	p.deep = at
	for id, when := range p.seen {
		if when.Before(p.newest.Add(-farBack - overlap)) {
			delete(p.seen, id)
		}
	}
}
