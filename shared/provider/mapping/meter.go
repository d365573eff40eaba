package mapping

import (
	"context"
	"errors"
	"time"

	"orgops/shared/base/fault"
)

// Limits of one evaluation: all rules for one arrival. A unit of fuel pays for one instruction of the interpreter or for
// the work of a function, by the bytes that it reads and makes. Fuel alone decides about an arrival, so that the answer
// does not depend on the machine's load. The time is a second bound, for a machine that is too slow.
const (
	maxFuel = 100_000
	maxTime = 100 * time.Millisecond
)

// Bytes that a unit of fuel pays for.
const (
	readBytes = 64 // compared or searched
	madeBytes = 16 // copied or allocated
)

// errFuel reports that an evaluation has used up its fuel.
var errFuel = errors.New("needs too much work for this arrival: it may use 100,000 steps; select fewer items, or shorter texts")

// meter bounds one evaluation. It is the context of the interpreter, which asks Done before each instruction.
type meter struct {
	context.Context
	end   time.Time
	fuel  int
	steps int
	spent error // says that the fuel is used up
	err   error
}

func newMeter(ctx context.Context, end time.Time) *meter {
	return &meter{Context: ctx, end: end, fuel: maxFuel, spent: errFuel}
}

// Done counts an instruction. It returns a closed channel if the evaluation must end.
func (m *meter) Done() <-chan struct{} {
	m.fuel--
	m.steps++
	if m.err == nil && m.fuel <= 0 {
		m.err = m.spent
	}
	if m.err == nil && m.steps%256 == 0 {
		m.err = m.ended()
	}
	if m.err == nil {
		return nil
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

// ended returns an error if the caller has given up or the time is up.
func (m *meter) ended() error {
	if err := m.Context.Err(); err != nil {
		return err
	}
	if time.Now().After(m.end) {
		return context.DeadlineExceeded
	}
	return nil
}

// Err says why the evaluation ended, or returns nil.
func (m *meter) Err() error { return m.err }

// pay takes fuel for the work of a function, before the work. It returns an error if too little is left; the interpreter
// then ends at its next instruction, even if the expression catches the error.
func (m *meter) pay(units int) error {
	m.fuel -= units + 1
	if m.fuel <= 0 {
		m.fuel, m.err = 0, m.spent
		return m.spent
	}
	return nil
}

// conclude translates the reason why an evaluation ended early. ctx is the caller's context.
func (m *meter) conclude(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(m.err, context.DeadlineExceeded):
		e := fault.New(fault.Unavailable, "the mapping took longer than 100 ms; send the arrival again")
		e.RetryAfter = time.Second
		return e
	}
	return m.err
}
