package dispatcher

import "time"

// SetBudget sets how long an endpoint may take to answer an attempt.
func (d *Dispatcher) SetBudget(budget time.Duration) { d.budget = budget }

// SetSeparate makes the dispatcher write each record in its own transaction.
func (d *Dispatcher) SetSeparate() { d.writer.separate = true }
