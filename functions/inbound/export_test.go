package inbound

import (
	"context"
	"time"

	"orgops/shared/storage/store"
)

// Admitting returns the limit of a process. Several that share it lease their shares from the store.
func Admitting(shared bool) func(context.Context, store.Company, time.Time) (time.Duration, bool) {
	return (&flows{shared: shared, of: map[string]*flow{}}).admit
}

// FlowKey names the item from which processes lease their shares.
const FlowKey = flowKey
