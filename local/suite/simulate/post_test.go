package simulate_test

import (
	"context"
	"errors"
	"sync"

	"orgops/shared/storage/mail"
)

// mails is the mail host of the simulation. It counts the mails that it has taken, by their ids.
type mails struct {
	mu    sync.Mutex
	taken map[string]int
}

// errLost reports a mail whose answer was lost, after the host had taken it or before.
var errLost = errors.New("the connection was lost")

// postOf is the mail host as an environment reaches it.
type postOf struct{ e *environment }

// Send implements mail.Sender. With the faults of the network a connection is lost, half of the time after the mail was taken.
func (p postOf) Send(ctx context.Context, m mail.Message) error {
	if err := p.e.begin(ctx); err != nil {
		return err
	}
	lost := !p.e.w.calm && p.e.roll() < 0.1
	if lost && p.e.roll() < 0.5 {
		return errLost
	}
	p.e.w.mailed.take(m.ID)
	if lost {
		return errLost
	}
	return p.e.begin(ctx) // the environment may die before it notes the answer
}

func (p *mails) take(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[id]++
}

// of returns how often the host took a mail.
func (p *mails) of(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken[id]
}
