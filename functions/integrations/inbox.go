package integrations

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/inbox"
	"orgops/shared/web"
)

// Inbox lists the arrivals that an integration has received in the sandbox.
type Inbox struct {
	Items []inbox.ReceivedSummary `json:"items" nullable:"false" doc:"the latest 20 of 7 days, newest first"`
}

type inboxOutput struct{ Body Inbox }

// listInbox also works for a deleted integration, because what was received stays until it expires. A name with an empty inbox, and
// without an integration, is not found.
func (d Deps) listInbox(ctx context.Context, in *ProviderInput) (*inboxOutput, error) {
	if err := d.Connectors.Knows(ctx, web.Tenant(ctx), in.Provider); err != nil {
		return nil, err
	}
	items, err := inbox.List(ctx, web.Tenant(ctx), in.Provider, d.Now())
	if err == nil && len(items) == 0 {
		_, err = d.find(ctx, in.Provider)
	}
	return &inboxOutput{Inbox{Items: items}}, err
}

type receivedInput struct {
	ProviderInput
	Inbox string `path:"inboxId" maxLength:"64" doc:"The arrival's id in the inbox"`
}

type receivedOutput struct{ Body inbox.Received }

func (d Deps) getReceived(ctx context.Context, in *receivedInput) (*receivedOutput, error) {
	if err := d.Connectors.Knows(ctx, web.Tenant(ctx), in.Provider); err != nil {
		return nil, err
	}
	if !id.Valid(in.Inbox) {
		return nil, fault.New(fault.NotFound, "the inbox holds no such arrival; it keeps the latest 20 of 7 days")
	}
	received, err := inbox.Load(ctx, web.Tenant(ctx), in.Provider, in.Inbox)
	return &receivedOutput{received}, err
}
