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

	"orgops/shared/awsclient"
)

// tryTimeout bounds one try; DynamoDB answers in milliseconds, the largest transaction in a second.
const tryTimeout = 5 * time.Second

func newClient(access awsclient.Access) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.Endpoint("DYNAMODB"), Retryer: awsclient.NewRetryer(collided),
		HTTPClient: countingClient{access.HTTPClient.WithTimeout(tryTimeout)},
	})
}

// collided decides about transactions: one that was refused only because another one was at work on an item, or because
// of a throttle, may succeed if it is made again.
func collided(err error) aws.Ternary {
	var one *types.TransactionConflictException
	var under *types.TransactionInProgressException
	if errors.As(err, &one) || errors.As(err, &under) {
		return aws.TrueTernary
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return aws.UnknownTernary
	}
	passing := false
	for _, reason := range cancelled.CancellationReasons {
		switch code := aws.ToString(reason.Code); {
		case code == "" || code == "None":
		case slices.Contains([]string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}, code):
			passing = true
		default:
			return aws.FalseTernary
		}
	}
	return aws.BoolTernary(passing)
}

// call is what is known of a call's tries.
type call struct {
	trips int
	// lost is true when a try ended without an answer that says what became of it: a write may have been made.
	lost bool
}

type callKey struct{}

// begin makes a context under which a call's tries are counted.
func begin(ctx context.Context) (context.Context, *call) {
	c := &call{}
	return context.WithValue(ctx, callKey{}, c), c
}

// countingClient counts the tries of a call. A call makes them one after another.
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
