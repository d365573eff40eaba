package simulate_test

import (
	"errors"
	"fmt"
	"time"

	"orgops/shared/storage/store"
)

// errKilled is what a call of an environment gets that no longer exists.
var errKilled = fmt.Errorf("the environment was killed: %w", store.ErrUnavailable)

// longest limits how long a slow call takes.
const longest = 20 * time.Second

// take decides the fate of a call and makes it happen.
func (w *world) take(c *call) {
	if c.held || !w.faulty() || c.env == nil {
		w.carryOut(c)
		return
	}
	p := w.plan
	switch {
	case p.on[killed] && w.chance(p.rate/10):
		w.trace.add("kill %s during %s", c.env.name, c.id)
		w.kill(c.env)
	case c.kind == gate || c.kind == post || c.kind == fetch: // receivers and providers have faults of their own
		w.carryOut(c)
	case c.kind == keys && (w.isKeyless() || p.on[keyless] && w.chance(0.2)):
		w.refuse(c, "no key for")
	case p.on[unknown] && c.kind == keys && w.chance(p.rate):
		w.lose(c, c.refusal)
	case p.on[slow] && w.chance(p.rate):
		c.at, c.held = time.Now().Add(w.between(time.Millisecond, longest)), true
		c.env.fault()
		w.trace.add("slow %s", c.id)
	case p.on[throttled] && w.chance(p.rate):
		w.refuse(c, "throttle")
	case p.on[unknown] && c.kind == commit && w.chance(p.rate):
		w.lose(c, store.ErrUnknown)
	case p.on[unknown] && c.kind == send && w.chance(p.rate):
		w.lose(c, c.refusal)
	default:
		w.carryOut(c)
	}
}

// carryOut makes a call's effect and answers it. An effect may ask for more time with errWait.
func (w *world) carryOut(c *call) {
	if w.down() && c.env != nil && (c.kind == read || c.kind == commit) {
		w.refuse(c, "outage")
		return
	}
	err := c.do()
	if errors.Is(err, errWait) {
		c.held = true
		return
	}
	if c.env != nil && c.env.f != nil && w.counts != nil {
		w.counts[c.env.f.name+" "+c.kind.String()]++
	}
	w.trace.add("%s: %s", c.id, outcome(err))
	w.answer(c, err)
}

// errWait keeps a call waiting. Its effect has set the time.
var errWait = errors.New("wait")

func (w *world) refuse(c *call, why string) {
	c.env.fault()
	w.trace.add("%s %s", why, c.id)
	w.answer(c, c.refusal)
}

// lose carries a call out or not, and does not tell the caller which.
func (w *world) lose(c *call, err error) {
	c.env.fault()
	result := error(nil)
	applied := w.chance(0.5)
	if applied {
		result = c.do()
	}
	w.trace.add("lose the outcome of %s: applied = %t, %s", c.id, applied, outcome(result))
	w.answer(c, err)
}

// fault records that a call of the running invocation failed, took long, or left it without the outcome.
func (e *environment) fault() {
	if e != nil && e.busy != nil {
		e.busy.faulted = true
	}
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}
