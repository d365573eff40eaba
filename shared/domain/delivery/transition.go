package delivery

import (
	"fmt"
	"slices"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/storage/store"
)

// Transition holds what a committed change did to a delivery or a recovery. It decodes only what decides about the next step, and
// only once, because a delivery carries its payload. The transition of another entity's change, or of a removal, requires nothing.
type Transition struct {
	change  store.Change
	was, is stage // the zero stage before the delivery was created
	turn    turn  // of a recovery
	err     error // the delivery or the recovery cannot be decoded
}

// turn holds the fields of a recovery that decide about its message.
type turn struct {
	Turn int       `json:"turn"`
	Due  time.Time `json:"due"`
	asks bool      // the change requires the message
}

// stage holds the fields of a delivery that decide about its next step.
type stage struct {
	State         State      `json:"state"`
	HeldBecause   string     `json:"heldBecause"`
	Generation    int        `json:"generation"`
	Incarnation   string     `json:"incarnation"`
	NextAttemptAt *time.Time `json:"nextAttemptAt"`
	Turned        *Turn      `json:"turned"`
}

// TransitionOf decodes a change. Due returns the error of what cannot be decoded.
func TransitionOf(c store.Change) Transition {
	t := Transition{change: c}
	if c.Entity == RecoveryEntity && c.New != nil {
		t.turn, t.err = turnOf(c)
		return t
	}
	if c.Entity != Entity || c.New == nil {
		return t
	}
	t.is, t.err = stageOf(c.New)
	if c.Old != nil && t.err == nil && (t.is.State == Held || t.is.State == Dead || t.is.NextAttemptAt != nil || t.is.Turned != nil) { // else the stage before does not matter
		t.was, t.err = stageOf(c.Old)
	}
	return t
}

func turnOf(c store.Change) (is turn, err error) {
	if err := fastjson.Unmarshal(c.New.Body, &is); err != nil {
		return turn{}, fmt.Errorf("decode recovery: %w", err)
	}
	var was turn
	if c.Old != nil {
		if err := fastjson.Unmarshal(c.Old.Body, &was); err != nil {
			return turn{}, fmt.Errorf("decode recovery: %w", err)
		}
	}
	is.asks = c.Old == nil || is.Turn > was.Turn
	return is, nil
}

func stageOf(image *store.Image) (s stage, err error) {
	if err := DecodeHead(image.Body, &s); err != nil {
		return stage{}, fmt.Errorf("decode delivery: %w", err)
	}
	return s, nil
}

// BecameHeld reports whether the change holds the delivery because of its endpoint's state, which may be another one by now.
func (t Transition) BecameHeld() bool {
	if t.err != nil || t.is.State != Held || slices.Contains([]string{HeldLine, HeldFilter, HeldTransform}, t.is.HeldBecause) {
		return false
	}
	return t.was.State != Held || t.was.HeldBecause != t.is.HeldBecause || t.was.Generation != t.is.Generation
}

// BecameDead reports whether the change tells that the last attempt of the delivery has failed.
func (t Transition) BecameDead() bool {
	return t.err == nil && t.is.State == Dead && t.was.State != Dead
}

// Turned returns what the change tells of the endpoint's pause; nil if nothing.
func (t Transition) Turned() *Turn {
	if t.err != nil || t.is.Turned == nil || t.was.Turned != nil && *t.was.Turned == *t.is.Turned {
		return nil
	}
	return t.is.Turned
}

// Unselected reports whether the change creates a delivery that is held because a filter or a transformation failed.
func (t Transition) Unselected() bool {
	return t.err == nil && t.change.Old == nil && t.is.State == Held && (t.is.HeldBecause == HeldFilter || t.is.HeldBecause == HeldTransform)
}

// Tells reports whether the change causes an event. The changes of most deliveries cause none.
func (t Transition) Tells() bool { return t.BecameDead() || t.Turned() != nil }
