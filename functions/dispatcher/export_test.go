package dispatcher

import "time"

// WaitFor sets how long an endpoint may take to answer an attempt.
func (d *Dispatcher) WaitFor(timeout time.Duration) { d.timeout = timeout }
