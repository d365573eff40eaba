package dynamostore

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"orgops/shared/base/awsclient"
)

// tryTimeout limits one try. DynamoDB answers in milliseconds, the largest transaction within a second.
const tryTimeout = 5 * time.Second

func newClient(access awsclient.Access) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.BaseEndpoint("DYNAMODB"), Retryer: awsclient.NewRetryer(retryTransaction),
		HTTPClient: countingClient{access.HTTPClient.WithTimeout(tryTimeout)},
	})
}

// retryTransaction decides whether to retry a cancelled transaction. It retries if other transactions on the items, or
// throttling, are the only reasons.
func retryTransaction(err error) aws.Ternary {
	var one *types.TransactionConflictException
	var under *types.TransactionInProgressException
	if errors.As(err, &one) || errors.As(err, &under) {
		return aws.TrueTernary
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return aws.UnknownTernary
	}
	transient := false
	for _, reason := range cancelled.CancellationReasons {
		switch code := aws.ToString(reason.Code); {
		case code == "" || code == "None":
		case slices.Contains([]string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}, code):
			transient = true
		default:
			return aws.FalseTernary
		}
	}
	return aws.BoolTernary(transient)
}

// call records the tries of one call.
type call struct {
	trips int
	// lost is true after a try whose outcome is unknown: that try may have written.
	lost bool
}

type callKey struct{}

// begin returns a context that counts a call's tries.
func begin(ctx context.Context) (context.Context, *call) {
	c := &call{}
	return context.WithValue(ctx, callKey{}, c), c
}

// countingClient counts the tries of a call. The tries run one after another, so the count needs no lock.
type countingClient struct{ http dynamodb.HTTPClient }

// Do implements dynamodb.HTTPClient.
func (c countingClient) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(r)
	if call, counted := r.Context().Value(callKey{}).(*call); counted {
		call.trips++
		switch {
		case err != nil:
			call.lost = call.lost || !neverSent(err)
		case resp.StatusCode >= http.StatusInternalServerError:
			call.lost = true
		}
	}
	return resp, err
}
