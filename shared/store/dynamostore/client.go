package dynamostore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"orgops/shared/awsclient"
)

const (
	// tryTimeout bounds one try; DynamoDB answers in milliseconds, the largest transaction in a second.
	tryTimeout = 5 * time.Second
	// maxTries bounds the tries of a call whose context sets no earlier end: together they take about 3 s.
	maxTries     = 10
	firstBackoff = 25 * time.Millisecond
	lastBackoff  = time.Second
)

func newClient(access awsclient.Access) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.Endpoint("DYNAMODB"), Retryer: newRetryer(),
		HTTPClient: countingClient{access.HTTPClient.WithTimeout(tryTimeout)},
	})
}

// newStreams makes the client of the stream. An emulator serves it at the table's address.
func newStreams(access awsclient.Access) *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: access.Region, Credentials: access.Credentials, BaseEndpoint: access.Endpoint("DYNAMODB_STREAMS", "DYNAMODB"),
		Retryer: newRetryer(), HTTPClient: access.HTTPClient.WithTimeout(tryTimeout),
	})
}

// newRetryer tries again what was throttled, met another transaction or did not arrive: in adaptive mode, which slows all
// callers down together when the table throttles, and with short, random pauses.
func newRetryer() aws.Retryer {
	return retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
		o.StandardOptions = append(o.StandardOptions, func(o *retry.StandardOptions) {
			o.MaxAttempts = maxTries
			o.RateLimiter = ratelimit.None // the adaptive one does its work
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return backoff(attempt), nil })
			o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(collided)}, o.Retryables...)
		})
	})
}

// backoff is a random pause before the try after so many, between half and all of a time that doubles.
func backoff(tries int) time.Duration {
	d := min(firstBackoff<<min(max(tries-1, 0), 10), lastBackoff)
	return d/2 + rand.N(d/2)
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
