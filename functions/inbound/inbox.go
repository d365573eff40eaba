package inbound

import (
	"context"
	"errors"

	"orgops/shared/base/id"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/inbox"
	"orgops/shared/provider/mapping"
	"orgops/shared/storage/store"
)

// received returns an arrival as the inbox keeps it: without the headers that may hold a credential or a signature.
func (r *reception) received(result inbox.MappingResult) inbox.Received {
	headers := map[string]string{}
	for name, value := range mapping.Headers(r.header) {
		if text, ok := value.(string); ok {
			headers[name] = text
		}
	}
	d := inbox.Received{
		ReceivedSummary: inbox.ReceivedSummary{ID: id.New(), ReceivedAt: r.now, Size: len(r.body)},
		Headers:         headers, Body: string(r.body), Source: "default", Result: result,
	}
	if r.integration.Mapping != nil {
		d.Source = "company"
	}
	return d
}

// keep adds an arrival to the inbox that the mapping refuses.
func (r *reception) keep(ctx context.Context, refused inbox.MappingResult) error {
	for range maxTries {
		ops, err := inbox.Add(ctx, r.company, arrival.OwnerOf(r.integration), r.received(refused))
		if err != nil {
			return err
		}
		err = r.company.Commit(ctx, ops...)
		if !errors.Is(err, store.ErrConflict) {
			return store.Fault(err, "")
		}
	}
	return errBusy()
}
