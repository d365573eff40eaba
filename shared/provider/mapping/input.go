package mapping

import (
	"fmt"

	"orgops/shared/base/fastjson"
)

// input holds what an expression reads: the arrival and one item of it. Most expressions are paths below the payload, so
// headers, configuration and the interpreter's object are made only when an expression needs them.
type input struct {
	*evaluation
	item any
	made map[string]any // the interpreter's object
	of   map[string]any // what is read instead of an arrival; nil: an arrival
}

// follow returns the value at a path, as the function follow does.
func (in *input) follow(path []string) (v any, ok bool, err error) {
	if in.of != nil {
		v, ok = follow(in.of, path)
		return v, ok, nil
	}
	switch path[0] {
	case "headers":
		v = in.received()
	case "payload":
		v = in.arrival.Payload
	case "item":
		v = in.item
	case "config":
		if v, err = in.configuration(); err != nil {
			return nil, false, err
		}
	}
	v, ok = follow(v, path[1:])
	return v, ok, nil
}

// object returns the input as the interpreter reads it.
func (in *input) object() (map[string]any, error) {
	if in.of != nil {
		return in.of, nil
	}
	if in.made != nil {
		return in.made, nil
	}
	config, err := in.configuration()
	if err != nil {
		return nil, err
	}
	in.made = map[string]any{"headers": in.received(), "payload": in.arrival.Payload, "config": config, "item": in.item}
	return in.made, nil
}

// received returns the headers as expressions read them.
func (e *evaluation) received() map[string]any {
	if e.headers == nil {
		e.headers = Headers(e.arrival.Header)
	}
	return e.headers
}

// configuration decodes the integration's configuration. It was checked when it was stored, so an error is not the sender's
// fault and ends the evaluation.
func (e *evaluation) configuration() (any, error) {
	if e.config != nil || len(e.arrival.Config) == 0 {
		return e.config, nil
	}
	if err := fastjson.Unmarshal(e.arrival.Config, &e.config); err != nil {
		e.err = fmt.Errorf("stored configuration: %w", err)
		return nil, e.err
	}
	return e.config, nil
}
