package projection

import (
	"cmp"
	"errors"
	"fmt"

	"orgops/shared/base/fastjson"
)

var errNullMap = errors.New("null instead of a map")

// UnmarshalJSON decodes a Context that encoding/json or Encode wrote. A missing field has its value in Empty. A null map or an
// inconsistent window is an error, because Fold would panic on it.
func (p *Context) UnmarshalJSON(data []byte) error {
	type plain Context // has no UnmarshalJSON
	*p = Empty("")
	data, err := unpack(data)
	if err != nil {
		return err
	}
	if err := fastjson.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	if p.Integrations == nil || p.Memory.Providers == nil || p.Syncs == nil || p.Results == nil || p.Deliveries.Endpoints == nil ||
		p.Recommendations == nil || p.Executives == nil || p.Incarnations == nil {
		return errNullMap
	}
	p.Goals.Total = cmp.Or(p.Goals.Total, p.Goals.Open+p.Goals.Closed) // release 0.1.0 stored no total
	for name, e := range p.Deliveries.Endpoints {
		if err := e.Hourly.check(); err != nil {
			return fmt.Errorf("endpoint %q: %w", name, err)
		}
	}
	return errors.Join(p.Deliveries.Recent.check(), p.Deliveries.Hourly.check(), p.Deliveries.Daily.check())
}

// check returns an error for a window on which add would panic.
func (w Window) check() error {
	if len(w.Delivered) != len(w.Failed) || w.Seconds <= 0 {
		return fmt.Errorf("inconsistent window: %d delivered and %d failed steps of %d s", len(w.Delivered), len(w.Failed), w.Seconds)
	}
	return nil
}
