package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/smithy-go"

	"orgops/shared/base/awsclient"
	"orgops/shared/storage/store"
)

// neverSent reports whether a request failed before any of it was sent.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// contractError wraps an error of DynamoDB as an error of the store contract, for a call that wrote nothing.
//
// A cancelled caller gets the context's error. Transient errors (no connection, deadline exceeded, throttling, a server
// fault) become ErrUnavailable. Other errors are mistakes of this program, such as a missing table.
func (c *call) contractError(ctx context.Context, err error) error {
	switch cause := ctx.Err(); {
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("%w: %w", cause, err)
	case cause != nil, transient(err):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// contractWriteError does the same as contractError for a call that may have written. It returns ErrUnknown if the outcome
// of any try is unknown.
func (c *call) contractWriteError(ctx context.Context, err error) error {
	if !c.lost {
		return c.contractError(ctx, err)
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w: %w: %w", store.ErrUnknown, cause, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// transient reports whether the same call may succeed later.
func transient(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return true // no response
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "Throttling", "SlowDown",
		"TransactionConflictException", "TransactionInProgressException", "LimitExceededException", "ReplicatedWriteConflictException":
		return true
	}
	server, _ := awsclient.ServerFault(err)
	return server || retryTransaction(err).Bool()
}
