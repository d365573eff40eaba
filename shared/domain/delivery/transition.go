package delivery

import (
	"fmt"
	"time"

	"orgops/shared/storage/store"
)

// Transition holds what a committed change did to a delivery. It decodes only what decides about the next step, and only once,
// because a delivery carries its payload. The transition of another entity's change, or of a removal, requires nothing.
type Transition struct {
	change  store.Change
	was, is stage // the zero stage before the delivery was created
	err     error // the delivery cannot be decoded
}

// stage holds the fields of a delivery that decide about its next step.
type stage struct {
	State         State      `json:"state"`
	HeldBecause   string     `json:"heldBecause"`
	Generation    int        `json:"generation"`
	Incarnation   string     `json:"incarnation"`
	NextAttemptAt *time.Time `json:"nextAttemptAt"`
}

// TransitionOf decodes a change. Due returns the error of what cannot be decoded.
func TransitionOf(c store.Change) Transition {
	t := Transition{change: c}
	if c.Entity != Entity || c.New == nil {
		return t
	}
	t.is, t.err = stageOf(c.New)
	if c.Old != nil && t.err == nil && (t.is.State == Held || t.is.NextAttemptAt != nil) { // else the stage before does not matter
		t.was, t.err = stageOf(c.Old)
	}
	return t
}

func stageOf(image *store.Image) (s stage, err error) {
	if err := UnmarshalOutline(image.Body, &s); err != nil {
		return stage{}, fmt.Errorf("decode delivery: %w", err)
	}
	return s, nil
}

// BecameHeld reports whether the change holds the delivery because of its endpoint, and not because of its place in a line.
func (t Transition) BecameHeld() bool {
	if t.err != nil || t.is.State != Held || t.is.HeldBecause == HeldLine {
		return false
	}
	return t.was.State != Held || t.was.HeldBecause != t.is.HeldBecause || t.was.Generation != t.is.Generation
}
