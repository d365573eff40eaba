package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/smithy-go"

	"orgops/shared/awsclient"
	"orgops/shared/store"
)

// neverSent reports whether a request failed before any of it left.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// outside makes an error of DynamoDB's one of the contract's, for a call that wrote nothing.
//
// A caller who went away gets the context's error. All that may pass (no connection, no time left, throttling, a fault of
// the service's own) is unavailable. What remains is a mistake of ours, such as a table that is not there.
func (c *call) outside(ctx context.Context, err error) error {
	switch cause := ctx.Err(); {
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("%w: %w", cause, err)
	case cause != nil, passes(err):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// outsideWrite is outside for a call that may have written: when it did not get an answer to each of its tries, whether it
// did is not known: ErrUnknown.
func (c *call) outsideWrite(ctx context.Context, err error) error {
	if !c.lost {
		return c.outside(ctx, err)
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w: %w: %w", store.ErrUnknown, cause, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// passes reports whether a call may succeed later though nothing is changed.
func passes(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return true // nobody answered
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "Throttling", "SlowDown",
		"TransactionConflictException", "TransactionInProgressException", "LimitExceededException", "ReplicatedWriteConflictException":
		return true
	}
	server, _ := awsclient.ServerFault(err)
	return server || collided(err).Bool()
}
